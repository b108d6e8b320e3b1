import {
  createLiteralElement,
  isLiteralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';

/** Begins what is written from right to left, whatever it is made of (Unicode Standard Annex #9, RLO), and ends it. */
export const PSEUDO_MARK = '\u202e';
const PSEUDO_END = '\u202c';
/** Around what others have written, which has a direction of its own (Unicode Standard Annex #9, FSI and PDI). */
const ISOLATE = '\u2068';
const ISOLATE_END = '\u2069';

/**
 * @returns a message in the pseudo-language, parsed: the words of its literal parts are marked and turned round, and what comes
 * into its places is isolated from them
 */
export function pseudo(message: string): MessageFormatElement[] {
  return turned(parse(message));
}

function turned(elements: MessageFormatElement[]): MessageFormatElement[] {
  return elements.flatMap((element): MessageFormatElement[] | MessageFormatElement => {
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
    if (isLiteralElement(element)) return { ...element, value: pseudoText(element.value) };
    if (isPoundElement(element)) return element;
    return [createLiteralElement(ISOLATE), element, createLiteralElement(ISOLATE_END)];
  });
}

/** @returns a text in the pseudo-language: each word marked and turned round */
export function pseudoText(text: string): string {
  return text.replace(/\S+/g, (word) => `${PSEUDO_MARK}${word}${PSEUDO_END}`);
}
