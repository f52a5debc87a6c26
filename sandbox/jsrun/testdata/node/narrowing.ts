type Shape = { kind: 'circle'; r: number } | { kind: 'rect'; w: number; h: number };
const area = (s: Shape): number => { switch (s.kind) { case 'circle': return Math.PI * s.r ** 2; case 'rect': return s.w * s.h; default: { const never: never = s; throw new Error(`unknown ${never}`); } } };
console.log([{ kind: 'circle', r: 1 } as const, { kind: 'rect', w: 2, h: 3 } as const].map(area).map((n) => n.toFixed(2)));
interface Result<T, E = Error> { ok: boolean; value?: T; error?: E }
async function attempt<T>(f: () => Promise<T> | T): Promise<Result<T>> { try { return { ok: true, value: await f() }; } catch (e) { return { ok: false, error: e instanceof Error ? e : new Error(String(e)) }; } }
console.log(await attempt(() => 42), (await attempt<number>(() => { throw 'text'; })).error?.message);
const isDefined = <T>(x: T | null | undefined): x is T => x != null;
console.log([1, null, 2, undefined].filter(isDefined).map((n) => n + 1));
function first<T extends readonly unknown[]>(xs: T): T[0] { return xs[0]; } console.log(first(['a', 1] as const), (<T,>(x: T) => x)('generic'));
type Row = Record<'id' | 'name', string>; const rows: Array<Partial<Row>> = [{ id: '1' }, { name: 'x' }]; for (const { id = '?', name = '?' } of rows) console.log(`${id}/${name}`);
let v: unknown = { a: { b: [1] } }; if (typeof v === 'object' && v !== null && 'a' in v) console.log(((v as any).a.b as number[])[0]!.toFixed(1));
class Stack<T> implements Iterable<T> { #items: T[] = []; push(...x: T[]): this { this.#items.push(...x); return this; } pop(): T | undefined { return this.#items.pop(); } get size(): number { return this.#items.length; } *[Symbol.iterator](): Iterator<T> { yield* this.#items; } static of<U>(...xs: U[]) { return new Stack<U>().push(...xs); } }
const st = Stack.of(1, 2, 3); console.log(st.pop(), st.size, [...st], st);
const enum E { A = "a" } console.log(E.A, ((x?: number) => x ?? "none")());
