/* Runs in a page: returns what it shows, as parts of an SVG whose colours are in `fill` and `stroke`. */
// The file is one expression, so that it can run again in the same page.
/* oxlint-disable unicorn/consistent-function-scoping */
(() => {
  const parts = [];
  const canvas = document.createElement('canvas').getContext('2d');
  const escape = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  const number = (value) => String(Math.round(value * 10) / 10);
  const isSeen = (colour) => !/rgba\(.*, 0\)|transparent/.test(colour);
  const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };

  /** What is left of an area in another one; `undefined` if nothing is. */
  function inside(area, { left, top, right, bottom }) {
    const common = {
      left: Math.max(area.left, left),
      top: Math.max(area.top, top),
      right: Math.min(area.right, right),
      bottom: Math.min(area.bottom, bottom),
    };
    return common.right - common.left > 0.5 && common.bottom - common.top > 0.5 ? common : undefined;
  }

  function addBox(area, style) {
    const { left, top, right, bottom } = area;
    const width = parseFloat(style.borderTopWidth);
    const hasBorder = ['Top', 'Right', 'Bottom', 'Left'].every(
      (side) => style[`border${side}Width`] !== '0px',
    );
    const hasFill = isSeen(style.backgroundColor);
    const radius = Math.min(parseFloat(style.borderRadius) || 0, (bottom - top) / 2);
    if (hasFill || (hasBorder && isSeen(style.borderTopColor))) {
      const inset = hasBorder ? width / 2 : 0;
      parts.push(
        `<rect x="${number(left + inset)}" y="${number(top + inset)}" width="${number(right - left - 2 * inset)}" ` +
          `height="${number(bottom - top - 2 * inset)}"${radius > 0 ? ` rx="${number(radius)}"` : ''} ` +
          `fill="${hasFill ? style.backgroundColor : 'none'}"` +
          `${hasBorder ? ` stroke="${style.borderTopColor}" stroke-width="${width}"` : ''}/>`,
      );
    }
    if (hasBorder) return;
    for (const [side, x1, y1, x2, y2] of [
      ['Top', left, top + 0.5, right, top + 0.5],
      ['Bottom', left, bottom - 0.5, right, bottom - 0.5],
      ['Left', left + 0.5, top, left + 0.5, bottom],
      ['Right', right - 0.5, top, right - 0.5, bottom],
    ]) {
      const size = parseFloat(style[`border${side}Width`]);
      const colour = style[`border${side}Color`];
      if (size > 0 && isSeen(colour))
        parts.push(
          `<path d="M${number(x1)} ${number(y1)}L${number(x2)} ${number(y2)}" fill="none" stroke="${colour}" stroke-width="${size}"/>`,
        );
    }
  }

  /** A line of text that begins at `left` and is cut off at the end of `area`. */
  function addText(text, rect, area, style) {
    const room = inside(rect, area);
    if (room === undefined || room.right - room.left < 2 || text.trim() === '') return;
    canvas.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = canvas.measureText(text);
    let shown = text.trimEnd();
    let length = rect.right - rect.left;
    if (room.right < rect.right - 1) {
      const roomFor = room.right - rect.left;
      while (shown !== '' && canvas.measureText(`${shown}…`).width > roomFor) shown = shown.slice(0, -1);
      shown += '…';
      length = canvas.measureText(shown).width;
    }
    const baseline = (rect.top + rect.bottom) / 2 + (ascent - descent) / 2;
    const font = /mono/i.test(style.fontFamily.split(',')[0]) ? 'code' : 'words';
    const weight = style.fontWeight === '400' ? '' : ` font-weight="${style.fontWeight}"`;
    const slant = style.fontStyle === 'italic' ? ' font-style="italic"' : '';
    parts.push(
      `<text class="${font}" x="${number(rect.left)}" y="${number(baseline)}" textLength="${number(length)}" ` +
        `lengthAdjust="spacingAndGlyphs" ` +
        `font-size="${parseFloat(style.fontSize)}"${weight}${slant} fill="${style.color}">${escape(shown)}</text>`,
    );
  }

  /** Adds each line that a text is broken into. */
  function addLines(node, area, style) {
    const range = document.createRange();
    let line;
    const finish = () => line && addText(line.text, line, area, style);
    for (let at = 0; at < node.data.length; at += 1) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const [rect] = range.getClientRects();
      const isSpace = /\s/.test(node.data[at]);
      if (rect === undefined || rect.width === 0 || (isSpace && line === undefined)) continue;
      if (line !== undefined && Math.abs(line.top - rect.top) < 2) {
        line.text += node.data[at];
        if (!isSpace) line.right = rect.right;
      } else {
        finish();
        line = {
          text: node.data[at],
          left: rect.left,
          right: rect.right,
          top: rect.top,
          bottom: rect.bottom,
        };
      }
    }
    finish();
  }

  function addDrawing(element, rect) {
    const copy = element.cloneNode(true);
    const originals = [element, ...element.querySelectorAll('*')];
    [copy, ...copy.querySelectorAll('*')].forEach((part, index) => {
      const style = getComputedStyle(originals[index]);
      for (const name of ['class', 'style', 'id', 'role', 'data-name']) part.removeAttribute(name);
      for (const name of [...part.attributes].map((each) => each.name))
        if (name.startsWith('aria-')) part.removeAttribute(name);
      if (part === copy) return;
      part.setAttribute('fill', style.fill);
      if (style.stroke === 'none') return;
      part.setAttribute('stroke', style.stroke);
      part.setAttribute('stroke-width', parseFloat(style.strokeWidth));
      part.setAttribute('stroke-linecap', style.strokeLinecap);
      part.setAttribute('stroke-linejoin', style.strokeLinejoin);
    });
    copy.setAttribute('x', number(rect.left));
    copy.setAttribute('y', number(rect.top));
    copy.setAttribute('width', number(rect.width));
    copy.setAttribute('height', number(rect.height));
    copy.removeAttribute('xmlns');
    parts.push(copy.outerHTML);
  }

  function addElement(element, area) {
    const style = getComputedStyle(element);
    if (style.display === 'none' || style.visibility === 'hidden' || style.opacity === '0') return;
    const rect = element.getBoundingClientRect();
    if (element.localName === 'svg') {
      if (inside(rect, area)) addDrawing(element, rect);
      return;
    }
    const seen = style.display === 'contents' ? undefined : inside(rect, area);
    if (seen !== undefined) addBox(seen, style);
    const clips = style.overflowX !== 'visible' || style.overflowY !== 'visible';
    if (clips && seen === undefined) return;
    const within = clips ? seen : area;
    if (element.localName === 'input' && ['text', 'search', 'password', ''].includes(element.type)) {
      const left = rect.left + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth);
      const isEmpty = element.value === '';
      const text = isEmpty
        ? element.placeholder
        : element.type === 'password'
          ? '•'.repeat(element.value.length)
          : element.value;
      canvas.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const right = Math.min(left + canvas.measureText(text).width, rect.right);
      addText(text, { left, right, top: rect.top, bottom: rect.bottom }, within, style);
      return;
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) addLines(child, within, style);
      else if (child.nodeType === Node.ELEMENT_NODE) addElement(child, within);
    }
  }

  parts.push(
    `<rect width="${innerWidth}" height="${innerHeight}" fill="${getComputedStyle(document.documentElement).backgroundColor}"/>`,
  );
  addElement(document.body, screen);
  return parts;
})();
