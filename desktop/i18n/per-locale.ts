import { currentLocale } from './translate.ts';

/**
 * What is made of the present locale, such as a format of `Intl`, which takes longer to make than to use.
 *
 * @param make takes a BCP 47 tag; called again only when that is another one
 */
export function perLocale<T>(make: (tag: string) => T): () => T {
  let made: { readonly tag: string; readonly value: T } | undefined;
  return () => {
    const { tag } = currentLocale();
    if (made?.tag !== tag) made = { tag, value: make(tag) };
    return made.value;
  };
}
