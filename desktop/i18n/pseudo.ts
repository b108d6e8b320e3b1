import { isLiteralElement, type MessageFormatElement, parse } from '@formatjs/icu-messageformat-parser';

/** Begins what is written from right to left, whatever it is made of (Unicode Standard Annex #9, RLO), and ends it. */
export const PSEUDO_MARK = '\u202e';
const PSEUDO_END = '\u202c';

/** @returns a message in the pseudo-language, parsed: the words of its literal parts are marked and turned round */
export function pseudo(message: string): MessageFormatElement[] {
  return turned(parse(message));
}

function turned(elements: MessageFormatElement[]): MessageFormatElement[] {
  return elements.map((element): MessageFormatElement => {
    if ('options' in element)
      return {
        ...element,
        options: Object.fromEntries(
          Object.entries(element.options).map(([name, option]) => [
            name,
            { ...option, value: turned(option.value) },
          ]),
        ),
      };
    if ('children' in element) return { ...element, children: turned(element.children) };
    return isLiteralElement(element) ? { ...element, value: element.value.replace(/\S+/g, mark) } : element;
  });
}

function mark(word: string): string {
  return `${PSEUDO_MARK}${word}${PSEUDO_END}`;
}
