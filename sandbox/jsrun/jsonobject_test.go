package jsrun

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

// What is parsed is an object like every other, and of no concern to those that
// were parsed beside it.
func TestParsedObjectsAreOrdinary(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	code := "const many = JSON.parse('{" + strings.Join(many, ",") + "}');\n" + `
const list = JSON.parse('[{"b":1,"a":2,"c":3},{"b":4,"a":5,"c":6},{"b":7,"a":8,"c":9}]');
const [x, y, z] = list;
delete x.a;
y.d = 10;
for (const k in z) if (k === 'b') { z.e = 0; delete z.b; }
Object.freeze(y);
let refused = '';
try { y.b = 0; } catch (e) { refused = e.name; }
Object.defineProperty(x, 'g', { get: () => 'got', enumerable: true });
const odd = JSON.parse('{"b":1,"10":2,"a":3,"2":4,"b":5,"":6,"\\u0061":7,"ä":8,"__proto__":{"p":1}}');
return {
  keys: list.map((o) => Object.keys(o).join()), text: JSON.stringify(list), refused,
  odd: Object.entries(odd).map(([k, v]) => k + '=' + JSON.stringify(v)).join(), own: Object.hasOwn(odd, '__proto__'), p: odd.p === undefined,
  many: Object.keys(many).length + ' ' + many.k39 + ' ' + Object.keys(many)[20], size: (many.more = 1, Object.keys(many).length),
  spread: JSON.stringify({ ...z, b: 1 }), of: Object.prototype.toString.call(x), is: x.constructor === Object,
};`
	const want = `{"keys":["b,c,g","b,a,c,d","a,c,e"],` +
		`"text":"[{\"b\":1,\"c\":3,\"g\":\"got\"},{\"b\":4,\"a\":5,\"c\":6,\"d\":10},{\"a\":8,\"c\":9,\"e\":0}]","refused":"TypeError",` +
		`"odd":"2=4,10=2,b=5,a=7,=6,ä=8,__proto__={\"p\":1}","own":true,"p":true,"many":"40 39 k20","size":41,` +
		`"spread":"{\"a\":8,\"c\":9,\"e\":0,\"b\":1}","of":"[object Object]","is":true}`
	out, _ := run(t, sandbox.JavaScript, code)
	if string(out.Value) != want {
		t.Errorf("exit %d %s\ngot  %s\nwant %s", out.ExitCode, out.Error, out.Value, want)
	}
}
