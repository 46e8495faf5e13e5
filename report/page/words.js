// Both languages of the page and of a report.

function dataOf(id) {
  const script = document.getElementById(id);
  return script === null ? null : JSON.parse(script.textContent);
}

// What the page is in: kept where the browser lets it (a file from disk may not).
const settings = {
  get(name, otherwise) {
    try {
      return localStorage.getItem("paritect-" + name) || otherwise;
    } catch (e) {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem("paritect-" + name, value);
    } catch (e) {
      // The choice then lasts as long as the page.
    }
  },
};

const page = {words: null, phrases: null, language: "en", redraw: () => {}};

function chooseLanguage(language) {
  page.language = language === "zh" ? "zh" : "en";
  document.documentElement.lang = page.language === "zh" ? "zh-CN" : "en";
  settings.set("language", page.language);
}

// A word of the page; {name} is replaced. Of one thing it is said by "ID/one", where there is such a word.
function t(id, args) {
  const single = args && String(args.count) === "1" ? page.words[id + "/one"] : undefined;
  const word = single || page.words[id];
  let text = word === undefined ? id : word[page.language];
  for (const [name, value] of Object.entries(args || {})) text = text.split("{" + name + "}").join(String(value));
  return text;
}

// A text of the report, which carries both languages.
function say(text) {
  if (text === null || text === undefined) return "";
  return page.language === "zh" ? text.zh || text.en || "" : text.en || text.zh || "";
}

// Of the phrases that fit a value, the one with the most words of its own (rules/phrases.h does the same).
function phraseOf(text) {
  if (page.phrases === null) {
    const quoted = (part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    page.phrases = (dataOf("phrases") || []).map(([en, zh]) => {
      const parts = en.split(/\{([a-z_]+)\}/);
      const pattern = parts.map((part, i) => i % 2 === 0 ? quoted(part) : part.startsWith("number") ? "([0-9].*?)" : "(.*?)");
      return {zh, names: parts.filter((part, i) => i % 2 === 1), own: parts.filter((part, i) => i % 2 === 0).join("").length,
        pattern: new RegExp("^" + pattern.join("") + "$", "s")};
    }).sort((a, b) => (a.names.length === 0 ? 0 : 1) - (b.names.length === 0 ? 0 : 1) || b.own - a.own);
  }
  return page.phrases.find((phrase) => phrase.pattern.test(text));
}

// A value of a finding, in the reader's language. A long one is no phrase.
function valueIn(text, depth = 0) {
  const phraseMax = 300;
  const within = 3;
  if (page.language !== "zh" || typeof text !== "string" || text.length > phraseMax) return text;
  const phrase = phraseOf(text);
  if (phrase === undefined) return text;
  const values = phrase.pattern.exec(text).slice(1);
  return phrase.zh.replace(/\{([a-z_]+)\}/g, (all, name) => {
    const value = values[phrase.names.indexOf(name)];
    // A single word is somebody's name: a key, a file, a node.
    return depth < within && value.includes(" ") ? valueIn(value, depth + 1) : value;
  });
}

// A text of the report, with its code.
function told(text) {
  return coded(say(text));
}

// What stands in a text `so` is code. The last of an odd number of backticks is one.
function coded(text) {
  const parts = text.split("`");
  const unpaired = parts.length % 2 === 0 ? "`" + parts.pop() : "";
  return [parts.map((part, index) => index % 2 === 0 ? part : el("code", {}, part)), unpaired];
}

// What parts a name from what is said of it: full-width in Chinese.
function colon() {
  return page.language === "zh" ? "：" : ": ";
}

function verdictWord(verdict) {
  return t("verdict_" + verdict);
}

// "1,234" groups are the reader's language's business.
function count(number) {
  return Number(number).toLocaleString(page.language === "zh" ? "zh-CN" : "en-GB");
}

function bytes(number) {
  if (number < 0) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; number >= 1024 && unit + 1 < units.length; ++unit) number /= 1024;
  return (unit === 0 ? number : number.toPrecision(3)) + " " + units[unit];
}

function percent(fraction) {
  return (fraction > 0 ? "+" : "") + (fraction * 100).toPrecision(3) + " %";
}

function short(number) {
  if (number === null || number === undefined) return "–";
  return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(6)));
}
