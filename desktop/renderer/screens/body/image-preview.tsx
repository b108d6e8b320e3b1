import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { t, type TextKey } from '../../../i18n/translate.ts';
import { dataUrl, type ImageType, MOST_PIXELS } from '../../model/body/image-type.ts';
import { countText } from '../../model/numbers.ts';
import { useMedia } from '../../view/use-media.ts';

const STILL = '(prefers-reduced-motion: reduce)';

type State = { kind: 'waiting' | 'broken' | 'large' } | { kind: 'shown'; width: number; height: number };

const WORDS = {
  waiting: 'body.picture.waiting',
  broken: 'body.picture.broken',
  large: 'body.picture.large',
} as const satisfies Record<string, TextKey>;

/** A picture. Its size is known before it is unpacked: one that would fill the memory is not drawn. */
export function ImagePreview({
  label,
  image,
  body,
}: {
  label: string;
  image: ImageType;
  body: Uint8Array;
}): JSX.Element {
  const name = t('body.picture.name', { format: image.name });
  const source = useMemo(() => dataUrl(image.type, body), [image, body]);
  const [state, setState] = useState<State>({ kind: 'waiting' });
  const onLoad = ({ naturalWidth: width, naturalHeight: height }: HTMLImageElement): void =>
    setState(width * height > MOST_PIXELS ? { kind: 'large' } : { kind: 'shown', width, height });
  // Whoever wants nothing to move sees the first picture of several.
  const isStill = useMedia(STILL) && image.type !== 'image/svg+xml';
  const canvas = useRef<HTMLCanvasElement>(null);
  const picture = useRef<HTMLImageElement>(null);
  useEffect(() => {
    if (state.kind !== 'shown' || canvas.current === null || picture.current === null) return;
    canvas.current.width = state.width;
    canvas.current.height = state.height;
    canvas.current.getContext('2d')?.drawImage(picture.current, 0, 0);
  }, [state, isStill]);
  return (
    <div class="preview" role="region" aria-label={label}>
      {isStill && <canvas ref={canvas} role="img" aria-label={name} hidden={state.kind !== 'shown'} />}
      <img
        ref={picture}
        src={source}
        alt={name}
        hidden={isStill || state.kind !== 'shown'}
        onLoad={(event) => onLoad(event.currentTarget)}
        onError={() => setState({ kind: 'broken' })}
      />
      <p class="hint">
        {state.kind === 'shown'
          ? `${image.name}, ${countText(state.width)} × ${countText(state.height)}`
          : t(WORDS[state.kind])}
      </p>
    </div>
  );
}
