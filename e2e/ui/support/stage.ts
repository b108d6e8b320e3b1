import type { Locale } from '../../../desktop/i18n/locale.ts';
import { pseudoText } from '../../../desktop/i18n/pseudo.ts';
import type { MainSide } from './app-window.ts';
import type { ScriptedMain } from './scripted-main.ts';

/** Says to a page what the main process says that is there at the time, so that one page can show several. */
export class Stage implements MainSide {
  /** the one that answers from now on, until the page has one */
  main: MainSide | undefined;

  invoke(channel: string, payload: unknown): unknown {
    return this.main?.invoke(channel, payload) ?? { ok: false, error: { code: 'none', text: '' } };
  }

  /** What it shows does not change by itself. */
  connect(): void {}
}

/** Sentences of main have these names, wherever they are. */
const SAID_BY_MAIN = new Set(['text', 'why', 'detail', 'fix']);

/** A main process in another language; what it says itself is translated only to the pseudo-language. */
export function inLanguage(main: ScriptedMain, locale: Locale): MainSide {
  const translated = (value: unknown, name: string): unknown => {
    if (typeof value === 'string') return SAID_BY_MAIN.has(name) ? pseudoText(value) : value;
    if (Array.isArray(value)) return value.map((each) => translated(each, name));
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, translated(each, key)]));
  };
  return {
    invoke(channel, payload) {
      const answer = main.invoke(channel, payload);
      const said = locale.language === 'ar-XB' ? translated(answer, '') : answer;
      if (channel !== 'snapshot:get' || typeof said !== 'object') return said;
      const { value } = said as { readonly value: object };
      return { ok: true, value: { ...value, locale } };
    },
    connect: () => undefined,
  };
}
