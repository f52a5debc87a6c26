// What differs between two values of JSON, by path.
export interface Change { path: string; was?: unknown; is?: unknown }

const none = Symbol('none');

export function differences(was: unknown, is: unknown): Change[] {
  const list: Change[] = [];
  const walk = (a: unknown, b: unknown, path: string) => {
    if (list.length > 50 || a === b) return;
    if (a && b && typeof a === 'object' && typeof b === 'object' && Array.isArray(a) === Array.isArray(b)) {
      const x = a as Record<string, unknown>, y = b as Record<string, unknown>;
      for (const k of new Set([...Object.keys(x), ...Object.keys(y)])) {
        walk(k in x ? x[k] : none, k in y ? y[k] : none, Array.isArray(a) ? `${path}[${k}]` : path ? path + '.' + k : k);
      }
      return;
    }
    list.push({ path: path || 'all', was: a === none ? undefined : a, is: b === none ? undefined : b });
  };
  walk(was, is, '');
  return list;
}
