/** What the keys of the view do. */
import { type Line, span } from './text.ts';

const KEYS: readonly (readonly [key: string, meaning: string])[] = [
  ['i', 'the requests: list, search, both messages, repeat'],
  ['c', 'copies the address to the clipboard of this terminal'],
  ['o', 'opens the address in a browser'],
  ['r', 'shows the address as a QR code'],
  ['e', 'extends the tunnel by its own time to live'],
  ['a, x', 'lets in who knocks, or does not'],
  ['Tab', 'chooses the tunnel that the keys are about, where there are several'],
  ['q', 'quits, after asking; Ctrl-C does without'],
  ['Ctrl-L', 'draws everything again'],
  ['?', 'these keys'],
];

export function helpPage(): Line[] {
  return [
    [span('keys', 'strong'), span('   any key goes back', 'dim')],
    [],
    ...KEYS.map(([key, meaning]) => [span(key.padEnd(8), 'strong'), span(meaning)]),
    [],
    [span('In another terminal, "culvert inspect" shows the same requests.', 'dim')],
  ];
}
