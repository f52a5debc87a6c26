enum Status { Open, Closed = 5, Merged }
enum Level { Low = 'LOW', High = 'HIGH' }
const enum Flag { A = 1 << 0, B = 1 << 1, AB = A | B }
console.log(Status.Closed, Status[5], Status.Merged, Object.keys(Status), Level.High, Object.values(Level), Flag.AB);
abstract class Animal { protected constructor(public readonly name: string, private age = 1) {} abstract sound(): string; describe(this: Animal): string { return `${this.name} says ${this.sound()} (${this.age})`; } static create<T extends Animal>(this: new (n: string) => T, n: string): T { return new this(n); } }
class Dog extends Animal { constructor(name: string) { super(name, 3); } override sound() { return 'woof'; } get upper() { return this.name.toUpperCase(); } declare extra?: string; }
console.log(new Dog('Rex').describe(), Dog.create('Bo').upper, new Dog('x'));
function over(a: number): string; function over(a: string): number; function over(a: any) { return typeof a === 'number' ? String(a) : a.length; }
console.log(over(5), over('abc'));
const config = { port: 80, host: 'h' } as const satisfies Record<string, unknown>;
type Keys = keyof typeof config; const k: Keys = 'port'; console.log(config[k]!, (config as any).none?.deep!.x, <number>config.port);
function assertIsString(v: unknown): asserts v is string { if (typeof v !== 'string') throw new TypeError('no string'); }
const isNum = (v: unknown): v is number => typeof v === 'number';
try { assertIsString(1); } catch (e) { console.log((e as Error).message); } console.log([1, 'a', 2].filter(isNum));
type Tree<T> = { value: T; children?: Tree<T>[] }; const tree: Tree<string> = { value: 'r', children: [{ value: 'c' }] };
const walk = <T,>(t: Tree<T>): T[] => [t.value, ...(t.children ?? []).flatMap(walk)]; console.log(walk(tree));
function logged(value: any, ctx: ClassMethodDecoratorContext) { return function (this: any, ...args: any[]) { console.log('call', String(ctx.name), ctx.kind); return value.apply(this, args); }; }
class Svc { @logged run(x: number) { return x * 2; } accessor count = 1; static #p = 5; static p() { return Svc.#p; } }
const s = new Svc(); s.count++; console.log(s.run(4), s.count, Svc.p());
{ using r = { [Symbol.dispose]() { console.log('disposed'); } }; console.log('in scope', typeof r); }
await (async () => { await using r = { async [Symbol.asyncDispose]() { console.log('async disposed'); } }; console.log('body', typeof r); })();
let u: string | undefined; u ??= 'd'; u &&= u + '!'; let n = 0; n ||= 5; console.log(u, n, 2 ** 3 ** 0);
const tuple: [a: string, b?: number, ...rest: boolean[]] = ['x', 1, true]; const [first, , ...others] = tuple; console.log(first, others);
abstract class Repo<T extends { id: number }> { protected items = new Map<number, T>(); add(...xs: T[]) { for (const x of xs) this.items.set(x.id, x); return this; } find = (id: number): T | null => this.items.get(id) ?? null; *[Symbol.iterator](): IterableIterator<T> { yield* this.items.values(); } }
class Users extends Repo<{ id: number; name: string }> {} const users = new Users().add({ id: 1, name: 'A' }, { id: 2, name: 'B' }); console.log(users.find(2), users.find(9), [...users].map((x) => x.name));
declare const ghost: string; type Fn = (x: number) => void; interface Opt { a?: number; readonly b: string; [key: string]: unknown } const o: Opt = { b: 'x' }; console.log(o?.a?.toFixed(1) ?? 'none', o['b']);
export const exported = 1; export type { Opt }; label: for (const i of [1, 2, 3]) { for (const j of [1, 2]) { if (j === 2) continue label; if (i === 3) break label; console.log(i, j); } }
console.log(((x: number): x is 5 => x === 5)(5), new (class<T> { constructor(public v: T) {} })(3).v, import.meta !== undefined);
