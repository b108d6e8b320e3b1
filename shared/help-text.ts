/** Layout of the help of both programs. */

/** Columns up to the explanations. */
const INDENT = 28;
const WIDTH = 100;

/** A line of a table: a word, and its explanation on as many lines as it takes. */
export function helpRow(word: string, text: string): string {
  const margin = ' '.repeat(INDENT);
  const head = word.length < INDENT ? word.padEnd(INDENT) : `${word}\n${margin}`;
  return `${head}${wordWrap(text, WIDTH - INDENT).join(`\n${margin}`)}\n`;
}

/** A paragraph in lines. */
export function helpParagraph(paragraph: string): string {
  return `${wordWrap(paragraph, WIDTH).join('\n')}\n`;
}

/** The paragraphs of a text with an empty line between them, each on one line. */
export function paragraphsOf(text: string): string[] {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replaceAll(/\s+/g, ' ').trim())
    .filter((paragraph) => paragraph !== '');
}

function wordWrap(text: string, width: number): string[] {
  const lines = [''];
  for (const part of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && line.length + 1 + part.length > width) lines.push(part);
    else lines[lines.length - 1] = line === '' ? part : `${line} ${part}`;
  }
  return lines;
}
