import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { dataUrl, type ImageType, MOST_PIXELS } from '../../model/body/image-type.ts';
import { countText } from '../../model/numbers.ts';
import { useMedia } from '../../view/use-media.ts';

const STILL = '(prefers-reduced-motion: reduce)';

type State = { kind: 'waiting' | 'broken' | 'large' } | { kind: 'shown'; width: number; height: number };

const WORDS = {
  waiting: 'The picture is being read.',
  broken: 'The picture cannot be read.',
  large: 'The picture is larger than is shown here.',
} as const;

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
  const name = `${image.name} picture`;
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
          : WORDS[state.kind]}
      </p>
    </div>
  );
}
