package sandboxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpbroker/mcpbroker/sandbox"
)

type raw = json.RawMessage

// The programs of the tests that do not depend on a language: text for those
// runners that run JavaScript, and under that text in programs a Go function
// for Fake.
const (
	codeAdd       = `return 1 + 1`
	codeNothing   = `const x = 1;`
	codePrint     = `console.log("to stdout"); console.error("to stderr"); console.log("again")`
	codeThrow     = `throw new TypeError("it broke")`
	codeCall      = `return await callMCPTool("demo__echo", {b: 1, a: "x"})`
	codeCallBare  = `return await callMCPTool("demo__echo")`
	codeCallNames = `const out = [];
for (const [server, tool] of [["a__b", "c"], ["a", "b__c"], ["a.b", "c"], ["a", "b.c"]]) out.push((await callMCPTool(server, tool, {n: out.length + 1})).n);
out.push((await callMCPTool("a__b__c", {n: 5})).n);
return [out, await callMCPTool("a__b", "c", 1).then(() => "none", (e) => e.message.includes("a__b.c"))]`
	codeCallTwice = `const one = await callMCPTool("demo__echo", {n: 1});
return [one, await callMCPTool("demo__echo", {n: 2})]`
	codeCallMany = `const out = [];
for (let n = 0; n < 12; n++) out.push(callMCPTool("demo__echo", {n}));
return (await Promise.all(out)).length`
	codeCatch = `try { await callMCPTool("demo__fail", {}) } catch (e) {
  return [e.name, e.message, e.server ?? null, e.code ?? null]
}`
	codeCallOverLimit = `let ok = 0, last = "";
for (let n = 0; n < 8; n++) try { await callMCPTool("demo__echo", {n}); ok++ } catch (e) { last = e.message }
console.log(last); return ok`
	codeLength    = `return (await callMCPTool("demo__big", {})).length`
	codeBigArg    = `try { await callMCPTool("demo__echo", {s: "x".repeat(1 << 20)}) } catch (e) { return e.message }`
	codePrintMuch = `const line = "x".repeat(1023); for (let i = 0; i < 3 * 1024; i++) console.log(line)`
	codeBigResult = `return "x".repeat(200 * 1024)`
)

// SuiteProgram is the Program with which Fake passes the suite.
func SuiteProgram(ctx context.Context, e *Env) (json.RawMessage, error) {
	p := programs[e.Request.Code]
	if p == nil {
		return nil, fmt.Errorf("the suite has no program %q", e.Request.Code)
	}
	return p(ctx, e)
}

// programs are those of the suite, by their text.
var programs = map[string]Program{
	codeAdd:     func(context.Context, *Env) (raw, error) { return raw(`2`), nil },
	codeNothing: func(context.Context, *Env) (raw, error) { return nil, nil },
	codePrint: func(_ context.Context, e *Env) (raw, error) {
		e.Print("to stdout\n")
		e.PrintError("to stderr\n")
		e.Print("again\n")
		return nil, nil
	},
	codeThrow: func(context.Context, *Env) (raw, error) { return nil, errors.New("TypeError: it broke") },
	codeCall: func(ctx context.Context, e *Env) (raw, error) {
		return e.Call(ctx, "call", "demo__echo", raw(`{"b":1,"a":"x"}`))
	},
	codeCallBare: func(ctx context.Context, e *Env) (raw, error) { return e.Call(ctx, "call", "demo__echo", nil) },
	codeCallTwice: func(ctx context.Context, e *Env) (raw, error) {
		one, err1 := e.Call(ctx, "call", "demo__echo", raw(`{"n":1}`))
		two, err2 := e.Call(ctx, "call", "demo__echo", raw(`{"n":2}`))
		return raw(fmt.Sprintf("[%s,%s]", one, two)), errors.Join(err1, err2)
	},
	codeCallNames: func(ctx context.Context, e *Env) (raw, error) {
		for i, target := range []string{"a__b\x1fc", "a\x1fb__c", "a.b\x1fc", "a\x1fb.c", "a__b__c"} {
			if _, err := e.Call(ctx, "call", target, raw(fmt.Sprintf(`{"n":%d}`, i+1))); err != nil {
				return nil, err
			}
		}
		return raw(`[[1,2,3,4,5],true]`), nil
	},
	codeCallMany:      callMany,
	codeCatch:         catch,
	codeCallOverLimit: callOverLimit,
	codeLength: func(ctx context.Context, e *Env) (raw, error) {
		v, err := e.Call(ctx, "call", "demo__big", raw(`{}`))
		return raw(fmt.Sprint(len(v) - 2)), err
	},
	codeBigArg: func(ctx context.Context, e *Env) (raw, error) {
		_, err := e.Call(ctx, "call", "demo__echo", raw(`{"s":"`+strings.Repeat("x", 1<<20)+`"}`))
		return json.Marshal(fmt.Sprint(err))
	},
	codePrintMuch: func(_ context.Context, e *Env) (raw, error) {
		for range 3 * 1024 {
			e.Print("%s\n", strings.Repeat("x", 1023))
		}
		return nil, nil
	},
	codeBigResult: func(context.Context, *Env) (raw, error) {
		return json.Marshal(strings.Repeat("x", 200*1024))
	},
}

func callMany(ctx context.Context, e *Env) (raw, error) {
	// The calls are started in order, as a program without threads does.
	const n = 12
	var wg sync.WaitGroup
	errs := make([]error, n)
	wg.Add(n)
	for i := range n {
		args := raw(fmt.Sprintf(`{"n":%d}`, i))
		e.session.Calls.Start(sandbox.Call{Func: "call", Target: "demo__echo", Args: args}, func(_ raw, err error) {
			errs[i] = err
			wg.Done()
		})
	}
	wg.Wait()
	return raw(fmt.Sprint(n)), errors.Join(errs...)
}

func catch(ctx context.Context, e *Env) (raw, error) {
	_, err := e.Call(ctx, "call", "demo__fail", raw(`{}`))
	ce, ok := errors.AsType[*sandbox.CallError](err)
	if !ok {
		return json.Marshal([]any{"Error", fmt.Sprint(err), nil, nil})
	}
	var fields struct{ Server, Code any }
	if err := json.Unmarshal(ce.Fields, &fields); err != nil {
		return nil, err
	}
	return json.Marshal([]any{ce.Name, ce.Message, fields.Server, fields.Code})
}

func callOverLimit(ctx context.Context, e *Env) (raw, error) {
	ok, last := 0, ""
	for n := range 8 {
		if _, err := e.Call(ctx, "call", "demo__echo", raw(fmt.Sprintf(`{"n":%d}`, n))); err != nil {
			last = err.Error()
			continue
		}
		ok++
	}
	e.Print("%s\n", last)
	return raw(fmt.Sprint(ok)), nil
}
