// The editor: CodeMirror with the grammar of the instruction set, errors where they are, lines linked with the listing.

import * as cm from "./vendor/codemirror.js";

const KINDS = {
  mnemonic: cm.tags.keyword, register: cm.tags.variableName, number: cm.tags.number, label: cm.tags.labelName,
  comment: cm.tags.comment, directive: cm.tags.meta, word: cm.tags.typeName, string: cm.tags.string,
};
const STYLE = cm.HighlightStyle.define([
  ...Object.entries(KINDS).filter(([k]) => k !== "string").map(([k, tag]) => ({tag, color: `var(--c-${k})`})),
  {tag: cm.tags.string, color: "var(--c-label)"},
]);
const C_WORDS = /(?:if|else|for|while|return|def|in|and|or|not|import|from|int|float|unsigned|double|void|const|char|short|long|__\w+|extern|struct)\b/y;
const PTX = /\.?[a-z_][\w.]*|%[\w.]+/y;

function otherLanguage(name) {
  return {
    token(stream) {
      if (stream.match(name === "python" ? /#.*/ : /\/\/.*/)) return "comment";
      if (stream.match(/"(?:[^"\\]|\\.)*"?/)) return "string";
      if (stream.match(/%[\w.]+/)) return "register";
      if (stream.match(/-?(?:0[xX][0-9a-fA-F]+|0[fd][0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?f?)/)) return "number";
      if (stream.match(/@\w[\w.]*/)) return "directive";
      if (name === "ptx") {
        if (stream.match(/\.[a-z]\w*/)) return "word";
        if (stream.match(/[a-z][a-z0-9]*(?=[\s.;])/)) return "mnemonic";
      } else {
        C_WORDS.lastIndex = stream.pos;
        const m = C_WORDS.exec(stream.string);
        if (m) { stream.pos += m[0].length; return "mnemonic"; }
      }
      if (!stream.match(/[\w$]+/)) stream.next();
      return null;
    },
  };
}

const setLinked = cm.StateEffect.define();
const linked = cm.StateField.define({
  create: () => cm.Decoration.none,
  update(now, change) {
    for (const e of change.effects) {
      if (e.is(setLinked)) {
        const lines = [...new Set(e.value)].filter((n) => n > 0 && n <= change.state.doc.lines).sort((a, b) => a - b);
        return cm.Decoration.set(lines.map((n) => cm.Decoration.line({class: "linked"}).range(change.state.doc.line(n).from)));
      }
    }
    return now.map(change.changes);
  },
  provide: (f) => cm.EditorView.decorations.from(f),
});

const setHues = cm.StateEffect.define();
const hues = cm.StateField.define({
  create: () => cm.Decoration.none,
  update(now, change) {
    for (const e of change.effects) {
      if (e.is(setHues)) {
        const lines = [...e.value].filter(([n]) => n > 0 && n <= change.state.doc.lines).sort((a, b) => a[0] - b[0]);
        return cm.Decoration.set(lines.map(([n, hue]) => cm.Decoration.line({attributes: {style: `box-shadow: inset 4px 0 0 hsl(${hue} 65% 55%)`}}).range(change.state.doc.line(n).from)));
      }
    }
    return now.map(change.changes);
  },
  provide: (f) => cm.EditorView.decorations.from(f),
});

const THEME = cm.EditorView.theme({
  "&": {height: "100%", fontSize: "12.5px", backgroundColor: "var(--panel)", color: "var(--ink)"},
  ".cm-content": {caretColor: "var(--ink)"},
  ".cm-scroller": {fontFamily: "var(--mono)", overflow: "auto"},
  ".cm-gutters": {backgroundColor: "var(--back)", color: "var(--quiet)", border: "none"},
  ".cm-activeLine": {backgroundColor: "color-mix(in srgb, var(--link) 8%, transparent)"},
  ".linked": {backgroundColor: "var(--mark) !important"},
  ".cm-tooltip": {backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)"},
  "&.cm-focused .cm-cursor": {borderLeftColor: "var(--ink)"},
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": {backgroundColor: "color-mix(in srgb, var(--link) 25%, transparent) !important"},
});

export class Editor {
  // changed(text): some time after the last key; moved(line): the cursor is in another line.
  constructor(place, changed, moved) {
    const shadow = place.attachShadow({mode: "open"});
    const holder = document.createElement("div");
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("div.holder { height: 100% }");
    shadow.adoptedStyleSheets.push(sheet);
    holder.className = "holder";
    shadow.append(holder);
    this.language = new cm.Compartment();
    this.waiting = 0;
    this.line = 0;
    this.quiet = false;
    this.view = new cm.EditorView({
      parent: holder, root: shadow,
      state: cm.EditorState.create({
        extensions: [
          cm.lineNumbers(), cm.history(), cm.drawSelection(), cm.highlightActiveLine(), cm.bracketMatching(), cm.lintGutter(),
          cm.syntaxHighlighting(STYLE), this.language.of([]), linked, hues, THEME,
          cm.EditorView.contentAttributes.of({"aria-label": "Source text"}),
          cm.keymap.of([...cm.defaultKeymap, ...cm.historyKeymap, ...cm.searchKeymap, ...cm.lintKeymap, ...cm.completionKeymap]),
          cm.EditorView.updateListener.of((u) => {
            if (u.docChanged && !this.quiet) {
              clearTimeout(this.waiting);
              this.waiting = setTimeout(() => changed(this.text), 250);
            }
            const line = u.state.doc.lineAt(u.state.selection.main.head).number;
            if (u.selectionSet && line !== this.line) moved(line);
            this.line = line;
          }),
        ],
      }),
    });
    this.view.scrollDOM.tabIndex = 0;  // it can be scrolled by keys
  }

  get text() { return this.view.state.doc.toString(); }

  set(text) {
    this.quiet = true;
    this.view.dispatch({changes: {from: 0, to: this.view.state.doc.length, insert: text}, selection: {anchor: 0}});
    this.quiet = false;
  }

  // The grammar for assembly, else the language's name.
  colour(grammar, name) {
    const token = grammar ? {
      token(stream) {
        const [length, kind] = grammar.at(stream.string, stream.pos);
        stream.pos += length;
        return kind || null;
      },
    } : otherLanguage(name);
    const extensions = [cm.StreamLanguage.define({...token, tokenTable: KINDS})];
    if (grammar) {
      const options = grammar.mnemonics.map((label) => ({label, type: "keyword"}));
      extensions.push(cm.autocompletion({
        override: [(context) => {
          const word = context.matchBefore(/[a-z_]\w*/);
          return word && (context.explicit || word.to - word.from > 1) ? {from: word.from, options} : null;
        }],
      }));
    }
    this.view.dispatch({effects: this.language.reconfigure(extensions)});
  }

  errors(diagnostics) {
    const doc = this.view.state.doc;
    const list = diagnostics.map((d) => {
      const line = doc.line(Math.min(Math.max(1, d.line), doc.lines));
      const from = Math.min(line.from + Math.max(0, d.column - 1), line.to);
      return {from, to: Math.min(line.to, from + Math.max(1, d.width)), severity: "error", message: [d.message, ...d.notes].join("\n")};
    });
    this.view.dispatch(cm.setDiagnostics(this.view.state, list));
  }

  link(lines, scroll) {
    const effects = [setLinked.of(lines)];
    const first = lines.find((n) => n > 0 && n <= this.view.state.doc.lines);
    if (scroll && first) effects.push(cm.EditorView.scrollIntoView(this.view.state.doc.line(first).from, {y: "center"}));
    this.view.dispatch({effects});
  }

  // A colour per line, by its number.
  colourLines(map) { this.view.dispatch({effects: setHues.of([...map])}); }

  go(line) {
    const at = this.view.state.doc.line(Math.min(Math.max(1, line), this.view.state.doc.lines)).from;
    this.view.dispatch({selection: {anchor: at}, effects: cm.EditorView.scrollIntoView(at, {y: "center"})});
    this.view.focus();
  }
}
