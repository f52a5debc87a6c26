// Events, and the signals that are made of them.
(function () {
  'use strict';
  const now = Date.now;

  const codes = { IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12,
    InvalidAccessError: 15, TypeMismatchError: 17, NetworkError: 19, AbortError: 20, QuotaExceededError: 22, TimeoutError: 23,
    DataCloneError: 25 };
  class DOMException extends Error {
    #name;
    constructor(message = '', name = 'Error') {
      super(message);
      this.#name = typeof name === 'object' && name !== null ? (name.name ?? 'Error') : String(name);
    }
    get name() {
      return this.#name;
    }
    get code() {
      return codes[this.#name] ?? 0;
    }
  }

  class Event {
    #stopped = false;
    #prevented = false;
    constructor(type, init = {}) {
      this.type = String(type);
      this.bubbles = !!init.bubbles;
      this.cancelable = !!init.cancelable;
      this.timeStamp = now();
      this.target = this.currentTarget = null;
    }
    get defaultPrevented() {
      return this.#prevented;
    }
    preventDefault() {
      if (this.cancelable) this.#prevented = true;
    }
    stopPropagation() {}
    stopImmediatePropagation() {
      this.#stopped = true;
    }
    static stopped(event) {
      return event.#stopped;
    }
  }
  const { stopped } = Event;
  delete Event.stopped;

  class CustomEvent extends Event {
    constructor(type, init = {}) {
      super(type, init);
      this.detail = init.detail ?? null;
    }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (!listener) return;
      const { once = false, signal } = typeof options === 'object' && options ? options : {};
      if (signal?.aborted) return;
      let list = this.#listeners.get(type);
      if (!list) this.#listeners.set(type, (list = []));
      if (list.some((l) => l.listener === listener)) return;
      list.push({ listener, once });
      signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
    }
    removeEventListener(type, listener) {
      const list = this.#listeners.get(type);
      if (list) this.#listeners.set(type, list.filter((l) => l.listener !== listener));
    }
    dispatchEvent(event) {
      event.target = event.currentTarget = this;
      const handler = this['on' + event.type];
      if (typeof handler === 'function') handler.call(this, event);
      for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
        if (stopped(event)) break;
        if (once) this.removeEventListener(event.type, listener);
        if (typeof listener === 'function') listener.call(this, event);
        else listener.handleEvent(event);
      }
      return !event.defaultPrevented;
    }
  }

  const make = Symbol('make');
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason;
    onabort = null;
    constructor(key) {
      super();
      if (key !== make) throw new TypeError('Illegal constructor');
    }
    get aborted() {
      return this.#aborted;
    }
    get reason() {
      return this.#reason;
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    static abort(reason) {
      const signal = new AbortSignal(make);
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      return signal;
    }
    static timeout(ms) {
      const signal = new AbortSignal(make);
      const timer = setInterval(() => { // which, other than a timeout, does not keep a program that has ended
        clearInterval(timer);
        end(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
      }, ms);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal(make);
      for (const source of signals) {
        if (source.aborted) {
          end(signal, source.reason);
          break;
        }
        source.addEventListener('abort', () => end(signal, source.reason), { once: true });
      }
      return signal;
    }
    static end(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
      signal.dispatchEvent(new Event('abort'));
    }
  }
  const { end } = AbortSignal;
  delete AbortSignal.end;

  class AbortController {
    #signal = new AbortSignal(make);
    get signal() {
      return this.#signal;
    }
    abort(reason) {
      end(this.#signal, reason);
    }
  }

  return { DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController };
});
