// The prototypes that have methods which depend on a locale.
(function () {
  'use strict';
  return { Number: Number.prototype, BigInt: BigInt.prototype, Date: Date.prototype, String: String.prototype };
});
