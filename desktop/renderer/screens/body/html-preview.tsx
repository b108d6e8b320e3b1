import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../../../i18n/translate.ts';
import { fillWithHtml } from './safe-html.ts';

/**
 * A page as it looks, in a frame of its own: nothing in it runs, is loaded from anywhere, or leads anywhere. Whatever a sender
 * tries has four doors to pass: only harmless elements and attributes are copied (safe-html.ts), the frame's sandbox allows no
 * script, form or window, its own policy and the window's allow no network. Same-origin, so that the copy can be put there.
 */
export function HtmlPreview({ label, html }: { label: string; html: string }): JSX.Element {
  const frame = useRef<HTMLIFrameElement>(null);
  useLayoutEffect(() => {
    if (frame.current !== null) fillWithHtml(frame.current, html);
  }, [html]);
  return (
    <div class="preview" role="region" aria-label={label}>
      <iframe
        ref={frame}
        class="preview-frame"
        title={t('body.asPage', { label })}
        sandbox="allow-same-origin"
        tabIndex={0}
      />
      <p class="hint">{t('body.pageWithout')}</p>
    </div>
  );
}
