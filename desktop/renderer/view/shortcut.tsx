import type { JSX } from 'preact';

const IS_MAC = navigator.platform.startsWith('Mac');

/** A shortcut of Electron as this system writes it. */
export function shortcutText(accelerator: string): string {
  return accelerator
    .replace('CommandOrControl', IS_MAC ? 'Cmd' : 'Ctrl')
    .replace('Alt', IS_MAC ? 'Option' : 'Alt');
}

/** The keys of a shortcut as this system writes them. @param keys such as `Mod+N` */
export function Shortcut({ keys }: { keys: string }): JSX.Element {
  return <kbd>{keys.replace('Mod+', IS_MAC ? '⌘' : 'Ctrl+')}</kbd>;
}
