"use strict";
// Shows the data of a page: the program beside its source, memory, graphs, and the rewrites' story. All texts are
// written as text, never as HTML. The address may select a line or an instruction: page.html#line=12, #row=4.
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const COLOURS = {temporary: "#4e79a7", result: "#f28e2b", update: "#59a14f", other: "#9c9c9c", loop: "#b07aa1"};

function element(tag, options = {}, ...children) {
    const made = tag.startsWith("svg:") ? document.createElementNS(SVG, tag.slice(4)) : document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
        if (name === "text") made.textContent = value;
        else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
        else made.setAttribute(name, value);
    }
    made.append(...children.filter(child => child !== null));
    return made;
}

// ---- tabs ----------------------------------------------------------------------------------------------------------
const sections = {};
const nav = element("nav");
const main = element("main");

function show(name) {
    for (const [other, {section, button}] of Object.entries(sections)) {
        section.classList.toggle("shown", other === name);
        button.classList.toggle("shown", other === name);
    }
    sections[name].onshow?.();
}

function tab(name, section, onshow = null) {
    const button = element("button", {text: name, onclick: () => show(name), id: `tab-${name}`});
    sections[name] = {section, button, onshow};
    section.id = name;
    nav.append(button);
    main.append(section);
}

// ---- the program beside its source ---------------------------------------------------------------------------------
const rowsOfLine = new Map();               // "file:line" → rows
const lineElements = new Map();
const rowElements = [];

const keyOf = ([file, line]) => `${file}:${line}`;

function clearSelection() {
    for (const chosen of document.querySelectorAll(".selected")) chosen.classList.remove("selected", "gradient");
}

function mark(chosen, isGradient) {
    chosen.classList.add("selected");
    chosen.classList.toggle("gradient", isGradient);
}

function selectLine(key) {
    clearSelection();
    lineElements.get(key)?.classList.add("selected");
    let first = null;
    for (const [number, isGradient] of rowsOfLine.get(key) || []) {
        mark(rowElements[number], isGradient);
        first = first ?? rowElements[number];
    }
    first?.scrollIntoView({block: "nearest"});
}

function selectRow(number) {
    clearSelection();
    rowElements[number].classList.add("selected");
    rowElements[number].scrollIntoView({block: "nearest"});
    for (const line of data.rows[number].lines) {
        const found = lineElements.get(keyOf(line));
        if (found) { mark(found, line[2]); found.scrollIntoView({block: "nearest"}); }
    }
}

function meter(kind, value, greatest, text) {
    const width = greatest && value ? Math.max(2, 100 * value / greatest) : 0;
    return element("td", {class: `meter ${kind}`}, element("span", {text}),
                   element("i", {style: `width: ${width}%`}));
}

function code(row) {
    const cell = element("td", {class: "code", style: `padding-left: ${6 + 22 * row.depth}px`});
    row.formulas.forEach((formula, place) => {
        if (place) cell.append("\n");
        cell.append(formula);
    });
    const remarks = row.remarks.join("; ");
    if (remarks) cell.append("  ", element("span", {class: "remark", text: `# ${remarks}`}));
    for (const note of row.notes) cell.append("\n", element("span", {class: "remark", text: `  # ${note}`}));
    return cell;
}

function programSection() {
    const hasTimes = data.rows.some(row => row.seconds !== null);
    const hasBytes = data.rows.some(row => row.bytes !== null);
    const inside = data.rows.filter(row => row.position !== null && !String(row.key).includes("-"));
    const most = name => Math.max(0, ...inside.map(row => row[name] ?? 0));
    const mostTime = most("seconds"), mostBytes = most("bytes");
    const body = element("tbody");
    data.rows.forEach((row, number) => {
        const made = element("tr", {id: `row-${row.key ?? "leaf" + number}`, onclick: () => selectRow(number)},
            element("td", {class: "number", text: row.position ?? ""}),
            hasTimes ? meter("time", row.seconds, mostTime, row.time) : null,
            hasBytes ? meter("bytes", row.bytes, mostBytes, row.size) : null, code(row));
        rowElements.push(made);
        body.append(made);
        for (const line of row.lines) {
            const key = keyOf(line);
            if (!rowsOfLine.has(key)) rowsOfLine.set(key, []);
            rowsOfLine.get(key).push([number, line[2]]);
        }
    });
    const heads = ["", hasTimes ? "time" : null, hasBytes ? "bytes" : null, "formula"].filter(head => head !== null);
    const table = element("table", {}, element("thead", {}, element("tr", {},
        ...heads.map(text => element("th", {text})))), body);
    const missing = [hasBytes ? null : "shapes and bytes appear after the first call",
                     hasTimes ? null : "times appear with profile=True"].filter(text => text !== null).join("; ");
    const hint = "Click a line of the source to see its instructions, or an instruction to see its lines; blue is "
        + "what belongs to the gradient of a line." + (missing ? ` (${missing})` : "");
    return element("section", {}, sourcePane(hasTimes),
                   element("div", {class: "program"}, element("p", {class: "hint", text: hint}), table));
}

function sourcePane(hasTimes) {
    const seconds = key => (rowsOfLine.get(key) || []).reduce((sum, [number]) =>
        sum + (data.rows[number].seconds ?? 0) / data.rows[number].lines.length, 0);
    const most = Math.max(0, ...[...rowsOfLine.keys()].map(seconds));
    const pane = element("div", {class: "source"});
    for (const file of data.files) {
        pane.append(element("h2", {text: file.name}));
        file.texts.forEach((text, place) => {
            const key = `${file.name}:${file.first + place}`;
            const line = element("div", {class: "line"}, element("b", {text: file.first + place}),
                hasTimes ? element("span", {class: "bar"}, element("i", {
                    style: `width: ${most ? 100 * seconds(key) / most : 0}%`})) : null,
                element("span", {text: text || " "}));
            if (rowsOfLine.has(key)) {
                line.classList.add("used");
                line.addEventListener("click", () => selectLine(key));
            }
            lineElements.set(key, line);
            pane.append(line);
        });
        if (!file.texts.length) pane.append(element("p", {class: "line", text: "  the source is not at hand"}));
    }
    return pane;
}

// ---- memory --------------------------------------------------------------------------------------------------------
function sizeText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let place = 0;
    while (bytes >= 1024 && place < 3) { bytes /= 1024; place += 1; }
    return `${place ? bytes.toFixed(1) : bytes} ${units[place]}`;
}

function memorySection() {
    const section = element("section", {class: "column memory"});
    const memory = data.memory;
    if (memory === null) {
        section.append(element("p", {text: "The memory of a program is known after its first call."}));
        return section;
    }
    const width = 1000, height = 420, left = 70, bottom = 26;
    const steps = memory.alive.length;
    const top = Math.max(1, ...memory.pieces.map(piece => piece.offset + piece.bytes), ...memory.alive);
    const x = step => left + (width - left) * step / steps;
    const y = bytes => (height - bottom) * (1 - bytes / top);
    const picture = element("svg:svg", {viewBox: `0 0 ${width} ${height}`});
    for (let part = 0; part <= 4; part += 1) {
        const bytes = top * part / 4;
        picture.append(element("svg:text", {x: left - 6, y: y(bytes) + (part === 4 ? 10 : 4), "text-anchor": "end",
                                            class: "muted", text: sizeText(Math.round(bytes))}));
    }
    const stride = Math.max(1, Math.ceil(steps / 20));
    for (let step = 0; step < steps; step += stride) {
        picture.append(element("svg:text", {x: x(step + 0.5), y: height - 8, "text-anchor": "middle", class: "muted",
                                            text: step}));
    }
    for (const piece of memory.pieces) {
        const wide = x(piece.last + 1) - x(piece.first), high = y(piece.offset) - y(piece.offset + piece.bytes);
        const title = `${piece.title}: ${piece.size}, instructions ${piece.first} to ${piece.last}, ${piece.use}`
            + (piece.lines ? `, ${piece.lines}` : "");
        picture.append(element("svg:rect", {class: "piece", x: x(piece.first), y: y(piece.offset + piece.bytes),
            width: wide, height: high, fill: COLOURS[piece.use] ?? "#888", onclick: () => goTo(piece.first)},
            element("svg:title", {text: title})));
        if (high > 12 && wide > 7 * piece.title.length) {
            picture.append(element("svg:text", {x: x(piece.first) + 4, y: y(piece.offset + piece.bytes / 2) + 4,
                                                text: piece.title, "pointer-events": "none", style: "fill: #fff"}));
        }
    }
    let path = "";
    memory.alive.forEach((bytes, step) => { path += `${step ? "L" : "M"}${x(step)} ${y(bytes)}H${x(step + 1)}`; });
    picture.append(element("svg:path", {d: path, fill: "none", stroke: "var(--text)", "stroke-width": 1.5}));
    const legend = element("p", {text: "Each rectangle is a piece of memory: its width is the time in instructions, its "
        + "height its size; the line is what is alive. Click one to see the instruction that fills it."});
    const colours = element("p");
    for (const [use, colour] of Object.entries(COLOURS)) {
        colours.append(element("span", {style: `color: ${colour}`, text: "■ "}), `${use}   `);
    }
    section.append(legend, colours, picture, element("pre", {text: memory.text}));
    return section;
}

function goTo(position) {
    const number = data.rows.findIndex(row => row.key === String(position));
    if (number >= 0) { show("program"); selectRow(number); }
}

// ---- graphs --------------------------------------------------------------------------------------------------------
const WIDE = 190, HIGH = 64, BOX = 168, TALL = 34;
const pictures = [];
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "11px system-ui, sans-serif";              // that of page.css

function fitting(text, width) {
    if (ruler.measureText(text).width <= width) return text;
    while (text && ruler.measureText(text + "…").width > width) text = text.slice(0, -1);
    return text + "…";
}

function drawing(title, graph) {
    const groups = new Map();
    const canvas = element("svg:g");
    const arrows = element("svg:g");
    canvas.append(arrows);
    const paths = [];
    const middle = box => box.x * WIDE;
    for (const [from, to, name] of graph.arrows) {
        const a = graph.boxes[from], b = graph.boxes[to];
        const x1 = middle(a), y1 = a.y * HIGH + TALL, x2 = middle(b), y2 = b.y * HIGH;
        const bend = Math.max(14, (y2 - y1) / 2);
        const path = element("svg:path", {d: `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`});
        if (name) path.append(element("svg:title", {text: name}));
        arrows.append(path);
        paths.push([from, to, path]);
    }
    for (const box of graph.boxes) {
        const group = element("svg:g", {transform: `translate(${middle(box) - BOX / 2} ${box.y * HIGH})`},
            element("svg:rect", {width: BOX, height: TALL, rx: box.kind === "op" ? 4 : 17, class: box.kind}),
            element("svg:text", {x: BOX / 2, y: 21, "text-anchor": "middle", text: fitting(box.label, BOX - 8)}),
            element("svg:title", {text: [box.label, box.op, box.type, ...box.lines.map(([file, line, isGradient]) =>
                `${isGradient ? "gradient of " : ""}${file}:${line}`)].join("\n")}));
        group.addEventListener("click", () => {
            for (const [from, to, path] of paths) {
                path.classList.toggle("near", from === box.id || to === box.id);
            }
        });
        groups.set(box.id, group);
        canvas.append(group);
    }
    const svg = element("svg:svg", {}, canvas);
    const xs = graph.boxes.map(middle), ys = graph.boxes.map(box => box.y * HIGH);
    const bounds = graph.boxes.length ? [Math.min(...xs) - WIDE / 2, Math.min(...ys) - 10,
                                         Math.max(...xs) - Math.min(...xs) + WIDE,
                                         Math.max(...ys) - Math.min(...ys) + HIGH + 10] : [0, 0, 1, 1];
    let view = [...bounds];
    const apply = () => svg.setAttribute("viewBox", view.join(" "));
    const reset = () => { view = [...bounds]; apply(); };
    const scale = () => { const {width, height} = svg.getBoundingClientRect();
                          return Math.max(view[2] / (width || 1), view[3] / (height || 1)); };
    const zoom = (factor, px = 0.5, py = 0.5) => {
        view = [view[0] + view[2] * (1 - factor) * px, view[1] + view[3] * (1 - factor) * py,
                view[2] * factor, view[3] * factor];
        apply();
    };
    svg.addEventListener("wheel", event => {
        event.preventDefault();
        const area = svg.getBoundingClientRect();
        zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - area.left) / area.width,
             (event.clientY - area.top) / area.height);
    }, {passive: false});
    let held = null;
    svg.addEventListener("pointerdown", event => { held = [event.clientX, event.clientY]; });
    window.addEventListener("pointerup", () => { held = null; });
    svg.addEventListener("pointermove", event => {
        if (held === null) return;
        const by = scale();
        view[0] -= (event.clientX - held[0]) * by;
        view[1] -= (event.clientY - held[1]) * by;
        held = [event.clientX, event.clientY];
        apply();
    });
    reset();
    const search = text => {
        const wanted = text.trim().toLowerCase();
        let count = 0;
        for (const box of graph.boxes) {
            const all = `${box.label} ${box.op} ${box.type} ${box.lines.map(([, line]) => `line ${line}`).join(" ")}`;
            const isFound = wanted !== "" && all.toLowerCase().includes(wanted);
            count += isFound;
            groups.get(box.id).classList.toggle("found", isFound);
            groups.get(box.id).classList.toggle("dim", wanted !== "" && !isFound);
        }
        return count;
    };
    pictures.push({search, reset, zoom});
    return element("div", {class: "picture"},
                   element("h2", {text: `${title}: ${graph.boxes.filter(box => box.kind === "op").length} operations`}),
                   svg);
}

function graphSection() {
    const found = element("span", {id: "found"});
    const field = element("input", {type: "search", placeholder: "search: an op, a name, line 12", id: "search",
                                    oninput: event => {
        const count = pictures.reduce((sum, picture) => sum + picture.search(event.target.value), 0);
        found.textContent = event.target.value.trim() ? `${count} found` : "";
    }});
    const all = action => () => pictures.forEach(action);
    const tools = element("div", {class: "tools"}, field, found,
        element("button", {text: "+", onclick: all(picture => picture.zoom(1 / 1.3))}),
        element("button", {text: "-", onclick: all(picture => picture.zoom(1.3))}),
        element("button", {text: "whole graph", onclick: all(picture => picture.reset())}),
        element("span", {class: "muted", text: "drag to move, wheel to zoom, click a box to see its arrows"}));
    const shown = Object.entries(data.graphs).map(([title, graph]) => drawing(title, graph));
    return element("section", {class: "graphs"}, tools, element("div", {class: "pictures"}, ...shown));
}

// ---- the rewrites' story -------------------------------------------------------------------------------------------
function storySection() {
    const body = element("tbody");
    for (const chapter of data.story) {
        chapter.examples.forEach(([old, made, lines], place) => {
            const rest = chapter.count - chapter.examples.length;
            const where = lines.map(([, line, isGradient]) => `${isGradient ? "gradient of " : ""}line ${line}`);
            body.append(element("tr", {}, element("td", {class: "name", text: place ? "" : chapter.name}),
                element("td", {text: place ? "" : chapter.count}),
                element("td", {class: "code"}, element("div", {class: "old", text: old}),
                        element("div", {class: "new", text: made}),
                        place + 1 === chapter.examples.length && rest > 0
                            ? element("div", {class: "old", text: `and ${rest} more`}) : null),
                element("td", {class: "name", text: where.join(", ")})));
        });
    }
    const heads = ["rewrite", "times", "what became what", "made at"].map(text => element("th", {text}));
    return element("section", {class: "column story"},
        element("p", {text: "What the optimizer did, from the graph as you wrote it to the compiled one, in this order."}),
        element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
}

// ---- all of it -----------------------------------------------------------------------------------------------------
if (data.summary) document.body.append(element("header", {}, element("p", {text: data.summary}), nav));
else document.body.append(element("header", {}, nav));
document.body.append(main);
if (data.rows) tab("program", programSection());
if (data.memory !== undefined) tab("memory", memorySection());
if (data.graphs) tab("graph", graphSection());
if (data.story) tab("rewrites", storySection());
show(Object.keys(sections)[0]);

function follow() {
    const [what, value] = decodeURIComponent(location.hash.slice(1)).split("=");
    if (what === "line" && data.files?.length) selectLine(`${data.files[0].name}:${value}`);
    else if (what === "row") goTo(value);
    else if (what in sections) show(what);
}
window.addEventListener("hashchange", follow);
follow();
document.body.dataset.ready = "yes";
})();
