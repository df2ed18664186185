// Looks at the page as somebody would who can't see it, or sees it badly; returns sentences about what is wrong.
const wrongs = [];
const say = (element, text) => wrongs.push(`${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""}.${element.className} ${text}: ${element.textContent.slice(0, 40)}`);
const isShown = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const all = selector => [...document.querySelectorAll(selector)].filter(isShown);

// Names.
const ids = [...document.querySelectorAll("[id]")].map(one => one.id);
for (const id of new Set(ids)) if (ids.filter(one => one === id).length > 1) wrongs.push(`The id ${id} is there twice.`);
const named = element => {
    const by = element.getAttribute("aria-labelledby");
    if (by) return by.split(" ").map(id => document.getElementById(id)?.textContent ?? "").join(" ").trim();
    return (element.getAttribute("aria-label") ?? "").trim() || [...element.labels ?? []].map(one => one.textContent).join(" ").trim()
        || (element.matches("input, select, textarea") ? "" : [...element.childNodes].map(node => node.nodeType === 3 ? node.data : node.ariaHidden === "true" ? "" : node.textContent).join(" ").trim()) || (element.alt ?? "").trim();
};
for (const element of all("button, a[href], input, select, textarea, summary, [role=tab], [role=treeitem], [role=img], [role=tree], [role=grid], [role=region], [role=tabpanel], [role=tablist], dialog, fieldset, table")) {
    if (element.matches("table")) { if (!element.caption && !element.closest("section, dialog")?.querySelector("h2, h3")) say(element, "has no caption"); }
    else if (element.matches("fieldset")) { if (!element.querySelector("legend")) say(element, "has no legend"); }
    else if (!named(element)) say(element, "has no name");
}
for (const image of all("img")) if (!image.hasAttribute("alt")) say(image, "has no alt");
for (const attribute of ["aria-labelledby", "aria-describedby", "aria-controls", "aria-activedescendant", "for", "list"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
        for (const id of element.getAttribute(attribute).split(" ")) if (!document.getElementById(id)) say(element, `names ${id} in ${attribute}, which is not there`);
    }
}

// Roles where they belong.
for (const [inner, outer] of [["treeitem", "tree"], ["row", "grid"], ["gridcell", "row"], ["tab", "tablist"]]) {
    for (const element of document.querySelectorAll(`[role=${inner}]`)) if (!element.parentElement.closest(`[role=${outer}]`)) say(element, `is no part of a ${outer}`);
}
for (const element of all("[role=treeitem]")) {
    if (!(Number(element.getAttribute("aria-level")) > 0 && Number(element.getAttribute("aria-posinset")) > 0 && Number(element.getAttribute("aria-setsize")) >= Number(element.getAttribute("aria-posinset")))) say(element, "does not say where it is");
}
if (document.querySelectorAll("[role=tab][aria-selected=true]").length !== 1 && isShown(document.getElementById("app"))) wrongs.push("There is not one selected tab.");
if (document.documentElement.lang !== "en" || !document.title) wrongs.push("The page has no language or no title.");
if (all("main").length !== 1) wrongs.push("There is not one main part.");
for (const element of all("button, input, select, a[href]")) {
    const box = element.getBoundingClientRect();
    const isInText = element.matches("a, input[type=checkbox]");
    if (!isInText && box.height > 0 && box.height < 24) say(element, `is only ${box.height} pixels high`);
}

// Contrast, from the colours that are really there.
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const parsed = new Map();
const rgba = text => {
    if (!parsed.has(text)) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = text;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        parsed.set(text, [r, g, b, a / 255]);
    }
    return parsed.get(text);
};
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
const background = element => {
    const layers = [];
    for (let one = element; one; one = one.parentElement) layers.push(rgba(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), rgba(getComputedStyle(document.body).backgroundColor));
};
const luminance = ([r, g, b]) => [r, g, b].map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4).reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => { const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x); return (light + 0.05) / (dark + 0.05); };
const seen = new Set();
let measured = 0;
const measure = (element, colour, what) => {
    const style = getComputedStyle(element), behind = background(element), ratio = contrast(over(rgba(colour), behind), behind);
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    measured++;
    const key = `${element.className} ${colour} ${behind}`;
    if (ratio < (isLarge ? 3 : 4.5) && !seen.has(key)) { seen.add(key); say(element, `${what} has a contrast of ${ratio.toFixed(2)} (${colour} on ${behind.slice(0, 3)})`); }
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (walker.currentNode.data.trim() && isShown(element) && !element.closest(":disabled, .hidden, noscript, option")) measure(element, getComputedStyle(element).color, "text");
}
for (const element of all("input[placeholder], textarea[placeholder]")) if (element.placeholder) measure(element, getComputedStyle(element, "::placeholder").color, "the placeholder");
for (const element of all("input:not([type=checkbox], [type=range]), select, textarea")) {
    const behind = background(element.parentElement), ratio = contrast(over(rgba(getComputedStyle(element).borderTopColor), behind), behind);
    if (ratio < 3) say(element, `has a border with a contrast of ${ratio.toFixed(2)}`);
}
if (measured < 10) wrongs.push(`Only ${measured} texts were measured.`);
return wrongs;
