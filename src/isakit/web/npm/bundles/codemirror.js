// What the editor uses of CodeMirror.
export {EditorState, Compartment, StateEffect, StateField} from "@codemirror/state";
export {EditorView, Decoration, keymap, lineNumbers, highlightActiveLine, drawSelection} from "@codemirror/view";
export {defaultKeymap, history, historyKeymap} from "@codemirror/commands";
export {StreamLanguage, syntaxHighlighting, HighlightStyle, bracketMatching} from "@codemirror/language";
export {lintGutter, setDiagnostics, lintKeymap} from "@codemirror/lint";
export {searchKeymap} from "@codemirror/search";
export {autocompletion, completionKeymap} from "@codemirror/autocomplete";
export {tags} from "@lezer/highlight";
