import type { JSX } from 'preact';
import { t } from '../../i18n/translate.ts';

const IS_MAC = navigator.platform.startsWith('Mac');

/** A shortcut of Electron as this system writes it. */
export function shortcutText(accelerator: string): string {
  return accelerator
    .replace('CommandOrControl', IS_MAC ? 'Cmd' : t('keys.control'))
    .replace('Alt', IS_MAC ? 'Option' : 'Alt')
    .replace('Shift', t('keys.shift'))
    .replace('Space', t('keys.space'));
}

/** The keys of a shortcut as this system writes them. @param keys such as `Mod+N` */
export function keysText(keys: string): string {
  return keys.replace('Mod+', IS_MAC ? '⌘' : `${t('keys.control')}+`);
}

/** {@link keysText}, drawn as keys. */
export function Shortcut({ keys }: { keys: string }): JSX.Element {
  return <kbd>{keysText(keys)}</kbd>;
}
