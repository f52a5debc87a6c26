export { ToolError } from './types';

/**
 * Calls a tool by its id and returns what it answers: its structured content,
 * else its text, parsed if it is a JSON object or array. What comes beside structured content is
 * in its property content. A failed call throws a ToolError.
 *
 * With { again: true } a script that is resumed with changed code makes a call
 * that it has made before.
 *
 * The broker puts its own in the place of this module when it runs a script.
 */
export function callMCPTool<T = any>(tool: string, input?: object, options?: { again?: boolean }): Promise<T> {
  return Promise.reject(new Error(`call ${tool}: there is no broker here; run the script with "broker exec"`));
}

export default callMCPTool;
