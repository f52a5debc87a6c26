// What an engine without weak references can do for those who ask for them.
(function () {
  'use strict';
  // A reference that never dies is within the specification.
  class WeakRef {
    #target;
    constructor(target) {
      if ((typeof target !== 'object' || target === null) && typeof target !== 'function' && typeof target !== 'symbol') {
        throw new TypeError('WeakRef: invalid target');
      }
      this.#target = target;
    }
    deref() {
      return this.#target;
    }
  }
  // Callbacks may come late, or never.
  class FinalizationRegistry {
    constructor(cleanup) {
      if (typeof cleanup !== 'function') throw new TypeError('FinalizationRegistry: cleanup must be callable');
    }
    register() {}
    unregister() {
      return false;
    }
  }
  return { WeakRef, FinalizationRegistry };
});
