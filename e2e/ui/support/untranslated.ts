import type { Page } from 'playwright-core';
import { LANGUAGE_NAMES } from '../../../desktop/i18n/locale.ts';
import { PSEUDO_MARK } from '../../../desktop/i18n/pseudo.ts';

/** What is not the window's own words: code, addresses, names, and what else says that it is not to be translated. */
const FROM_OTHERS = 'bdi, code, kbd, pre, [dir=ltr], [translate=no], script, style';

/** What `Intl` writes in the language of the region: units, and halves of the day. */
const BY_INTL = String.raw`/\d[\s\u00a0\u202f](?:[kMGT]?B|bytes?|days?|hours?|minutes?|[AP]M)\b/gu`;

/** Of languages and addresses, and what is left of a shortcut without the keys that languages name: nobody translates them. */
const NAMES = String.raw`/^(?:(?:\+|Alt|[A-Z](?!\w))+|https?:\/\/.*|${Object.values(LANGUAGE_NAMES).join('|')})$/u`;

/**
 * What a page in the pseudo-language shows, or says to screen readers, that is in no catalogue.
 *
 * @returns texts, each with the element that it is in; words of the catalogue are marked, and values in them isolated
 */
export async function untranslated(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`{
    const names = ${NAMES};
    const others = ${JSON.stringify(FROM_OTHERS)};
    const isOurs = (text) => {
      let left = text.replaceAll(/${PSEUDO_MARK}[^\\u202c]*\\u202c/gu, '');
      // From the inside: a value may be a text with values of its own.
      for (let before = ''; before !== left; ) {
        before = left;
        left = left.replaceAll(/\\u2068[^\\u2068\\u2069]*\\u2069/gu, '');
      }
      return /\\p{L}/u.test(left.replaceAll(${BY_INTL}, '')) && !names.test(left.trim());
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node instanceof Element ? node : node.parentElement;
      if (element.closest(others) !== null) continue;
      const texts = node instanceof Element
        ? ['aria-label', 'aria-description', 'title', 'placeholder', 'alt'].map((name) => node.getAttribute(name) ?? '')
        : [node.data];
      for (const text of texts)
        if (isOurs(text)) found.push(text.trim() + ' in ' + element.cloneNode(false).outerHTML.slice(0, 120));
    }
    found;
  }`);
}
