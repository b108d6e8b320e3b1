/** Everything that is drawn: the logo, the states, the icons and QR codes. */
import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';
import { t } from '../../messages/translate.ts';
import type { Shape } from '../model/tunnel-state.ts';

/** The Culvert logo: two arches. */
export function Mark({ size = 20 }: { size?: number }): JSX.Element {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true">
      <path d="M2 16V9.5a8 8 0 0 1 16 0V16" />
      <path class="mark-inner" d="M6.5 16v-6a3.5 3.5 0 0 1 7 0v6" />
    </svg>
  );
}

/** A tunnel's state as a shape; the word is next to it. */
export function StateShape({ shape }: { shape: Shape }): JSX.Element {
  return (
    <svg class={`shape shape-${shape}`} viewBox="0 0 14 14" aria-hidden="true">
      {drawing(shape)}
    </svg>
  );
}

function drawing(shape: Shape): JSX.Element {
  switch (shape) {
    case 'online':
      return <circle class="filled" cx="7" cy="7" r="5" />;
    case 'soon':
      return <path class="filled" d="M7 1.5 13 12H1Z" />;
    case 'trouble':
      return <path class="drawn" d="M7 2.4a4.6 4.6 0 1 0 0 9.2 4.6 4.6 0 0 0 0-9.2ZM4 10l6-6" />;
    case 'connecting':
      return <path class="drawn" d="M7 2.4A4.6 4.6 0 1 1 2.4 7" />;
    case 'reconnecting':
      return <path class="drawn" d="M11.6 7A4.6 4.6 0 0 1 3 9.3M2.4 7A4.6 4.6 0 0 1 11 4.7" />;
    case 'ended':
      return <rect class="drawn" x="3" y="3" width="8" height="8" rx="1.5" />;
  }
}

const ICONS = {
  settings:
    'M2 4.5h1.6M7.4 4.5H14M2 11.5h6.6M12.4 11.5H14M5.5 2.6a1.9 1.9 0 1 1 0 3.8 1.9 1.9 0 0 1 0-3.8ZM10.5 9.6a1.9 1.9 0 1 1 0 3.8 1.9 1.9 0 0 1 0-3.8Z',
  back: 'M9.5 3 4.5 8l5 5',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.4 10.4 14 14',
  close: 'm4 4 8 8M12 4l-8 8',
  locked: 'M4.4 7.2h7.2v6H4.4ZM5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2',
  unlocked: 'M4.4 7.2h7.2v6H4.4ZM5.6 7.2V4.6A2.4 2.4 0 0 1 10.2 4',
  check: 'm3.5 8.5 3 3 6-7',
  folder: 'M2 3.5h4.2l1.4 1.9H14v7.1H2Z',
  next: 'm3.5 6 4.5 4.5L12.5 6',
  previous: 'm3.5 10 4.5-4.5 4.5 4.5',
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" width="16" height="16" viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}

/** A code includes a light border of this many modules (ISO/IEC 18004 section 9.1). */
const BORDER = 4;

/** An address as a QR code, dark on light in every theme, as scanners expect. */
export function QrCode({ text }: { text: string }): JSX.Element {
  const { size, path } = useMemo(() => drawQr(text), [text]);
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={t('common.qr', { text })}>
      <rect class="qr-light" width={size} height={size} />
      <path class="qr-dark" d={path} />
    </svg>
  );
}

function drawQr(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { border: BORDER });
  const path = data
    .map((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : '')).join(''))
    .join('');
  return { size, path };
}
