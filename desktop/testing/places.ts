import {
  isLiteralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';

/** @returns the names of the places and tags of a message of the catalogue, sorted */
export function placesOf(message: string): string[] {
  const names = new Set<string>();
  const collect = (parts: readonly MessageFormatElement[]): void => {
    for (const part of parts) {
      if (!isLiteralElement(part) && !isPoundElement(part)) names.add(part.value);
      if ('options' in part) for (const option of Object.values(part.options)) collect(option.value);
      if ('children' in part) collect(part.children);
    }
  };
  collect(parse(message));
  return [...names].toSorted();
}
