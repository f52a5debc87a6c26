class Shape {
  static #count = 0;
  static registry = new Map();
  #id;
  constructor(name) {
    this.name = name;
    this.#id = ++Shape.#count;
    Shape.registry.set(this.#id, this);
    if (new.target === Shape) throw new TypeError('Shape is abstract');
  }
  get id() { return this.#id; }
  set label(v) { this.name = String(v).toUpperCase(); }
  area() { return 0; }
  toString() { return `${this.constructor.name}#${this.#id}(${this.area().toFixed(2)})`; }
  [Symbol.toPrimitive](hint) { return hint === 'number' ? this.area() : this.toString(); }
  static has(o) { return #id in o; }
  static get count() { return Shape.#count; }
}
class Circle extends Shape {
  constructor(r) { super('circle'); this.r = r; }
  area() { return Math.PI * this.r ** 2; }
}
class Square extends Shape {
  side = 1;
  constructor(s) { super('square'); this.side = s; }
  area() { return this.side ** 2; }
  toJSON() { return { type: this.name, side: this.side }; }
}
const Loud = (Base) => class extends Base { toString() { return super.toString() + '!'; } };
class LoudSquare extends Loud(Square) {}
const shapes = [new Circle(1), new Square(2), new LoudSquare(3)];
for (const s of shapes) console.log(String(s), +s, `${s}`, s.id, Shape.has(s), s instanceof Square);
shapes[1].label = 'box';
console.log(JSON.stringify(shapes), Shape.count, Shape.has({}));
try { new Shape('x'); } catch (e) { console.log(e.name + ': ' + e.message); }
console.log(Object.getOwnPropertyNames(Circle.prototype), Object.keys(shapes[1]), LoudSquare.name, Loud(Square).name);
console.log(shapes[0], shapes[1]);
console.log(class A {}, class {});
const o = { get x() { return 1; }, set x(v) {}, get y() { return 2; }, set z(v) {}, f() {}, g: () => 1, [Symbol('s')]: 5, 'a-b': null, u: undefined };
console.log(o);
console.log(Object.entries(Object.getOwnPropertyDescriptors(o)).map(([k, d]) => k + ':' + (d.get ? 'get' : '') + (d.set ? 'set' : '') + ('value' in d ? 'value' : '')).join());
class Temp { static { this.zero = -273.15; } static #f(c) { return c * 9 / 5 + 32; } static toF = (c) => Temp.#f(c); accessor = 1; static async *gen() { yield 1; } 'quoted key'() { return 'q'; } 42() { return 42; } }
console.log(Temp.zero, Temp.toF(100), new Temp()['quoted key'](), new Temp()[42](), new Temp());
for await (const x of Temp.gen()) console.log(x);
