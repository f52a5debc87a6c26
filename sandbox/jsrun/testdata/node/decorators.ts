const registry: string[] = [];
function tool(name: string) { return <T extends new (...a: any[]) => object>(Class: T, ctx: ClassDecoratorContext) => { registry.push(`${name}:${ctx.name}`); }; }
function bound(_: unknown, ctx: ClassMethodDecoratorContext) { ctx.addInitializer(function (this: any) { this[ctx.name] = this[ctx.name].bind(this); }); }
function clamp(min: number, max: number) { return (_: undefined, ctx: ClassFieldDecoratorContext) => (v: number) => Math.min(max, Math.max(min, v)); }
function memo<This, A extends any[], R>(f: (this: This, ...a: A) => R, ctx: ClassGetterDecoratorContext | ClassMethodDecoratorContext) { const cache = new Map<string, R>(); return function (this: This, ...a: A): R { const k = JSON.stringify(a); if (!cache.has(k)) cache.set(k, f.apply(this, a)); return cache.get(k)!; }; }
@tool('calc') class Calc { @clamp(0, 10) level = 50; calls = 0; @bound who() { return this.level; } @memo square(n: number) { this.calls++; return n * n; } }
const c = new Calc(); const { who } = c; console.log(registry, who(), c.square(4), c.square(4), c.calls);
