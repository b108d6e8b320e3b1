import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';
import { t } from '../../i18n/translate.ts';

/** A light frame of this many modules is part of the code (ISO/IEC 18004 section 9.1). */
const BORDER = 4;

/** An address as a QR code: dark on light in every theme, as scanners expect it. */
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
