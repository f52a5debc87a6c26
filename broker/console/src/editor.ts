// The editor of the Runner. It lives in a shadow root: there its styles are sheets
// made by script, which the policy of the page allows; elements it would not.
import { autocompletion, closeBrackets, type CompletionContext } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import { drawSelection, EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

// A Name is one that completes.
export interface Name { name: string; detail: string; of?: string }

export interface Editor { text(): string; complete(names: Name[]): void; close(): void }

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword], color: 'var(--code-word)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-text)' },
  { tag: tags.comment, color: 'var(--dim)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--fg)', backgroundColor: 'var(--panel)', fontSize: '13px', height: '100%' },
  '.cm-content': { caretColor: 'var(--fg)', fontFamily: 'var(--mono)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.5' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--dim)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--fg)' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--select) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', color: 'var(--fg)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--bg)' },
});

export function edit(box: HTMLElement, doc: string, run: () => void): Editor {
  let names: Name[] = [];
  const complete = (c: CompletionContext) => {
    const word = c.matchBefore(/[\w$]*(\.[\w$]*)?/);
    if (!word || (word.from === word.to && !c.explicit)) return null;
    const dot = word.text.indexOf('.');
    const of = dot < 0 ? undefined : word.text.slice(0, dot);
    return { from: word.from + dot + 1, options: names.filter((n) => n.of === of).map((n) => ({ label: n.name, detail: n.detail, type: n.of ? 'function' : 'namespace' })) };
  };
  const root = box.attachShadow({ mode: 'open' });
  const view = new EditorView({
    root, parent: root,
    state: EditorState.create({
      doc,
      extensions: [
        Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => { run(); return true; } }])), history(), drawSelection(), highlightSpecialChars(), lineNumbers(),
        bracketMatching(), closeBrackets(), indentOnInput(), keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        javascript({ typescript: true }), syntaxHighlighting(colours), theme, autocompletion({ override: [complete] }), EditorView.contentAttributes.of({ 'aria-label': 'Script' }),
      ],
    }),
  });
  return { text: () => view.state.doc.toString(), complete: (list) => { names = list; }, close: () => { view.destroy(); } };
}
