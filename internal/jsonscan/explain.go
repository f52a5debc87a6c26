package jsonscan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Explain rewrites an error of encoding/json for the author of the JSON: it names the key, the value
// and the expected type. It returns other errors unchanged.
func Explain(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := "it"
		// The schema library separates the parts of a field by type names.
		if field := strings.Trim(strings.ReplaceAll(e.Field, "schemaWithoutMethods", ""), "."); field != "" {
			at = strconv.Quote(strings.ReplaceAll(field, "..", "."))
		}
		return fmt.Errorf("%s is %s and has to be %s", at, found(e.Value), wanted(e.Type))
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: ") {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}

// found describes a value as encoding/json does, such as "number 1.5".
func found(value string) string {
	kind, number, _ := strings.Cut(value, " ")
	if number != "" {
		return "the number " + number
	}
	return cmp.Or(map[string]string{"array": "a list", "object": "an object", "string": "a string", "bool": "a boolean", "number": "a number"}[kind], value)
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a whole number that is not too large"
}
