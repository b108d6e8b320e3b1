/** Texts of the app in its user's language. Each process speaks one language at a time. */
import { IntlMessageFormat } from 'intl-messageformat';
import { DE } from './de/de.ts';
import { EN } from './en/en.ts';
import { DEFAULT_LOCALE, type Language, type Locale } from './locale.ts';
import { pseudo } from './pseudo.ts';

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

/** Speaks another language from now on; what was said before stays as it is. */
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
 * @param values for the places of the message, which is written in ICU's MessageFormat
 * @throws if a place has no value
 */
export function t(key: TextKey, values?: TextValues): string {
  if (values === undefined && locale.language !== 'ar-XB') return messageOf(key);
  return String(formatOf(key).format(values));
}

/**
 * A text with tags in it, such as `<b>…</b>`.
 *
 * @param tags what becomes of what is in each tag
 * @returns the text in pieces, which are strings or what `tags` have made
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
