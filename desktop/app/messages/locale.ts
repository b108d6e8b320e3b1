/** The languages of the app, and which of them a user reads. The command speaks English. */

/** Those that users can choose, by their BCP 47 tags. */
export const LANGUAGES = ['en', 'de'] as const;
/**
 * CLDR's pseudo-language that is written from right to left: English, every word marked and turned round. It shows what
 * is not translated, and what does not mirror. It is not offered; settings files take it.
 */
export const PSEUDO_LANGUAGE = 'ar-XB';
export type Language = (typeof LANGUAGES)[number] | typeof PSEUDO_LANGUAGE;
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
