// Queues whose shift would cost a step for each element.
(function () {
  'use strict';
  const { apply } = Reflect;
  const { getPrototypeOf } = Object;
  const { isArray } = Array;
  const plain = Array.prototype;
  const { pop, push, splice, unshift } = plain;

  // What a program uses as a queue, and as nothing else.
  class Queue {
    #front = []; // turned round
    #items;
    #head = 0; // what is before it is gone
    constructor(items) {
      this.#items = items;
    }
    get length() {
      return this.#front.length + this.#items.length - this.#head;
    }
    push(...more) {
      apply(push, this.#items, more);
      return this.length;
    }
    unshift(...more) {
      for (let i = more.length; i-- > 0; ) apply(push, this.#front, [more[i]]);
      return this.length;
    }
    shift() {
      if (this.#front.length > 0) return apply(pop, this.#front, []);
      if (this.#head === this.#items.length) return undefined;
      const first = this.#items[this.#head];
      this.#items[this.#head++] = undefined;
      if (this.#head > 1000 && 2 * this.#head > this.#items.length) {
        apply(splice, this.#items, [0, this.#head]);
        this.#head = 0;
      }
      return first;
    }
    pop() {
      if (this.#items.length > this.#head) return apply(pop, this.#items, []);
      return apply(splice, this.#front, [0, 1])[0];
    }
  }
  const queue = (items) => (isArray(items) && getPrototypeOf(items) === plain ? new Queue(items) : items);
  return { queue };
});
