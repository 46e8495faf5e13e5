"use strict";
// Elements are made, never parsed: whatever a report holds becomes text and nothing else.

// el("td", {class: "fail", onclick: f}, child, "text", [more]): an element. null and false are left out.
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  add(made, children);
  return made;
}

function add(parent, children) {
  for (const child of [].concat(children)) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(parent, child);
    else parent.append(child instanceof Node ? child : shown(String(child)));
  }
}

// Characters that turn the direction of what follows or cannot be seen would let a name pose as another: they are shown
// as what they are. A text of a megabyte is cut, with its length.
function shown(text) {
  const textMax = 4000;
  const cut = text.length > textMax ? text.slice(0, textMax) + "… (" + text.length + ")" : text;
  return cut.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff]|\p{Cs}/gu,
    (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// A part of an address; anybody can write one that is none.
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch (e) {
    return text;
  }
}

function clear(parent) {
  parent.replaceChildren();
  return parent;
}

// A part that is closed until it is wanted; its content is made when it is opened first.
function fold(summary, content, attributes) {
  const inside = el("div", {class: "inside"});
  const part = el("details", attributes, el("summary", {}, summary), inside);
  let made = false;
  part.fill = () => {
    if (!made) add(inside, content());
    made = true;
  };
  part.addEventListener("toggle", () => part.open && part.fill());
  if (attributes && attributes.open) part.fill();
  return part;
}

// A list that stays usable with a hundred thousand rows: some at a time, and how many there are in all.
function paged(rows, draw, options) {
  const {first = 20, step = 200, tag = "ol"} = options || {};
  const list = el(tag, {class: "rows"});
  const more = el("button", {type: "button", class: "more"});
  const box = el("div", {class: "paged"}, list, more);
  let at = 0;
  const next = (count) => {
    const end = Math.min(rows.length, at + count);
    const part = document.createDocumentFragment();
    for (; at < end; ++at) part.append(draw(rows[at], at));
    list.append(part);
    more.hidden = at >= rows.length;
    more.textContent = t("more", {count: Math.min(step, rows.length - at), left: rows.length - at});
  };
  more.addEventListener("click", () => next(step));
  next(first);
  return box;
}

function table(caption, heads, rows, attributes) {
  return el("div", {class: "place-of-table"}, el("table", attributes || {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", {scope: "col"}, head)))),
    el("tbody", {}, rows)));
}

function section(id, title, ...children) {
  return el("section", {id, "aria-labelledby": id + "-title"}, el("h2", {id: id + "-title"}, title), children);
}
