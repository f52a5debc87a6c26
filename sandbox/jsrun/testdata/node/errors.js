class ApiError extends Error { constructor(message, status, options) { super(message, options); this.name = 'ApiError'; this.status = status; } }
const load = async (id) => { try { if (id > 1) JSON.parse('{bad'); return id; } catch (cause) { throw new ApiError(`load ${id}`, 422, { cause }); } };
const results = await Promise.allSettled([1, 2].map(load));
const bad = results[1].reason;
console.log(bad instanceof ApiError, bad.name, bad.status, bad.cause instanceof SyntaxError, bad.cause.message, `${bad}`, Object.prototype.toString.call(bad));
try { await Promise.any([Promise.reject(new Error('a'))]); } catch (e) { console.log(e.name, e.errors.length); }
const f = () => { try { return 'try'; } finally { console.log('finally'); } }; console.log(f());
