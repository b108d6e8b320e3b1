/**
 * The languages of the app, which of them a user reads, and the texts in it. Each process speaks one language at a time.
 * The command speaks English.
 */
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

/** Those that users can choose, by their BCP 47 tags. */
export const LANGUAGES = ['en', 'de'] as const;
/**
 * CLDR's pseudo-language that is written from right to left: English, every word marked and turned round. It shows what
 * is not translated, and what does not mirror. It is not offered; settings files take it.
 */
export const PSEUDO_LANGUAGE = 'ar-XB';
type Language = (typeof LANGUAGES)[number] | typeof PSEUDO_LANGUAGE;
/** What languages call themselves, so that those find theirs who read no other. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
  'ar-XB': 'English, mirrored',
};

/** What a user has chosen: a language, or the system's. */
export const LANGUAGE_CHOICES = ['system', ...LANGUAGES, PSEUDO_LANGUAGE] as const;
export type LanguageChoice = (typeof LANGUAGE_CHOICES)[number];

/** How the app speaks to its user. */
export interface Locale {
  /** of its texts */
  readonly language: Language;
  /** BCP 47 tag for dates and numbers, which differ between regions of one language */
  readonly tag: string;
}

export const DEFAULT_LOCALE: Locale = { language: 'en', tag: 'en' };

/**
 * @param preferred BCP 47 tags of the languages that the system's user reads, best first; others than tags are passed
 *   over
 */
export function chooseLocale(choice: LanguageChoice, preferred: readonly string[]): Locale {
  if (choice === PSEUDO_LANGUAGE) return { language: choice, tag: 'en' };
  const known = preferred.flatMap((tag) => {
    const language = LANGUAGES.find((each) => each === languageOf(tag));
    return language === undefined ? [] : [{ language, tag }];
  });
  if (choice === 'system') return known[0] ?? DEFAULT_LOCALE;
  return known.find(({ language }) => language === choice) ?? { language: choice, tag: choice };
}

function languageOf(tag: string): string | undefined {
  try {
    return new Intl.Locale(tag).language;
  } catch {
    return undefined;
  }
}

/** Writing direction of a language, as HTML's `dir`. */
export function directionOf(language: Language): 'ltr' | 'rtl' {
  return language === PSEUDO_LANGUAGE ? 'rtl' : 'ltr';
}

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
function pseudo(message: string): MessageFormatElement[] {
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
