/**
 * The languages of the app, which of them a user reads, and the texts in it. Each process speaks one language at a time.
 * The command speaks English.
 */
import { IntlMessageFormat } from 'intl-messageformat';
import DE from './de.json' with { type: 'json' };
import { EN } from './en.ts';

/** Those that users can choose, by their BCP 47 tags. */
export const LANGUAGES = ['en', 'de'] as const;
type Language = (typeof LANGUAGES)[number];
/** What languages call themselves, so that those find theirs who read no other. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: 'English',
  de: 'Deutsch',
};

/** What a user has chosen: a language, or the system's. */
export const LANGUAGE_CHOICES = ['system', ...LANGUAGES] as const;
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

/** Name of a text; its first part is the part of the app that it belongs to. */
export type TextKey = keyof typeof EN;
/** What a text has in its places. */
export type TextValues = Readonly<Record<string, string | number | Date>>;

/** A text that a language does not have is shown in English. */
const CATALOGUES: Readonly<Record<Language, Readonly<Record<string, string | undefined>>>> = {
  en: EN,
  de: DE,
};

let locale: Locale = DEFAULT_LOCALE;
/** Of the present language: a message is parsed when it is first shown. */
let formats = new Map<string, IntlMessageFormat>();

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
  if (values === undefined) return messageOf(key);
  return String(formatOf(key, messageOf(key)).format(values));
}

/**
 * A text that is not in the catalogue in English, because it is known from elsewhere.
 *
 * @returns `undefined` if the user's language does not have it either, or if a place has no value or none that fits
 */
export function translationOf(key: string, values?: TextValues): string | undefined {
  const message = CATALOGUES[locale.language][key];
  try {
    return message === undefined ? undefined : String(formatOf(key, message).format(values));
  } catch {
    return undefined;
  }
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
  return [formatOf(key, messageOf(key)).format<Part>({ ...values, ...tags })].flat() as (string | Part)[];
}

function messageOf(key: TextKey): string {
  return CATALOGUES[locale.language][key] ?? EN[key];
}

function formatOf(key: string, message: string): IntlMessageFormat {
  let format = formats.get(key);
  if (format === undefined) {
    format = new IntlMessageFormat(message, locale.tag);
    formats.set(key, format);
  }
  return format;
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
