/** Texts of the app in its user's language. Each process speaks one language at a time. */
import {
  createLiteralElement,
  isLiteralElement,
  isPoundElement,
  type MessageFormatElement,
  parse,
} from '@formatjs/icu-messageformat-parser';
import { IntlMessageFormat } from 'intl-messageformat';
import { DE } from './de.ts';
import { EN } from './en.ts';
import { DEFAULT_LOCALE, type Language, type Locale } from './locale.ts';

/** Name of a text; its first part is the part of the app that it belongs to. */
export type TextKey = keyof typeof EN;
/** What a text has in its places. */
export type TextValues = Readonly<Record<string, string | number | Date>>;

const CATALOGUES: Readonly<Record<Exclude<Language, 'ar-XB'>, Readonly<Record<TextKey, string>>>> = {
  en: EN,
  de: DE,
};

let locale: Locale = DEFAULT_LOCALE;
/** Of the present language: a message is parsed when it is first shown. */
let formats = new Map<TextKey, IntlMessageFormat>();

/** Switches to another language from now on; texts that were already made stay as they are. */
export function setLocale(next: Locale): void {
  if (next.language === locale.language && next.tag === locale.tag) return;
  locale = next;
  formats = new Map();
}

/** For dates and numbers: `Intl` takes its tag. */
export function currentLocale(): Locale {
  return locale;
}

/**
 * A text in the user's language.
 *
 * @param values for the placeholders of the message, which is written in ICU's MessageFormat
 * @throws if a placeholder has no value
 */
export function t(key: TextKey, values?: TextValues): string {
  if (values === undefined && locale.language !== 'ar-XB') return messageOf(key);
  return String(formatOf(key).format(values));
}

/**
 * A text with tags in it, such as `<b>…</b>`.
 *
 * @param tags functions that convert the content of each tag
 * @returns the text in pieces: strings and the results of `tags`
 * @throws if a place or a tag has no value
 */
export function tagged<Part>(
  key: TextKey,
  values: TextValues,
  tags: Readonly<Record<string, (inside: (string | Part)[]) => Part>>,
): (string | Part)[] {
  return [formatOf(key).format<Part>({ ...values, ...tags })].flat() as (string | Part)[];
}

function messageOf(key: TextKey): string {
  return CATALOGUES[locale.language === 'ar-XB' ? 'en' : locale.language][key];
}

function formatOf(key: TextKey): IntlMessageFormat {
  let format = formats.get(key);
  if (format === undefined) {
    const message = messageOf(key);
    format = new IntlMessageFormat(locale.language === 'ar-XB' ? pseudo(message) : message, locale.tag);
    formats.set(key, format);
  }
  return format;
}

/** Starts and ends right-to-left text, whatever its characters (Unicode Standard Annex #9, RLO). */
export const PSEUDO_MARK = '\u202e';
const PSEUDO_END = '\u202c';
/** Isolates text from other sources, which has its own direction (Unicode Standard Annex #9, FSI and PDI). */
const ISOLATE = '\u2068';
const ISOLATE_END = '\u2069';

/**
 * @returns a message in the pseudo-language, parsed: the words of its literal parts are marked and turned round, and
 *   what comes
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

/**
 * Caches a value that depends on the current locale, such as a format of `Intl`, which is slow to create.
 *
 * @param make gets a BCP 47 tag; called again only when the tag changes
 */
export function perLocale<T>(make: (tag: string) => T): () => T {
  let made: { readonly tag: string; readonly value: T } | undefined;
  return () => {
    const { tag } = currentLocale();
    if (made?.tag !== tag) made = { tag, value: make(tag) };
    return made.value;
  };
}
