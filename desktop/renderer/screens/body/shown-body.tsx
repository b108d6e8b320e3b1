import type { JSX } from 'preact';
import type { BodyView } from '../../model/body/body-view.ts';
import type { Way } from '../../model/body/ways.ts';
import { FormTable } from './form-table.tsx';
import { HtmlPreview } from './html-preview.tsx';
import { ImagePreview } from './image-preview.tsx';
import { JsonTree } from './json-tree.tsx';
import { TextView } from './text-view.tsx';
import type { Find } from './use-find.ts';

/** A body in one of the ways of showing it. */
export function ShownBody({
  label,
  view,
  way,
  text,
  find,
}: {
  label: string;
  view: BodyView;
  way: Way;
  /** what there is to be read, if that is text */
  text: string | undefined;
  find: Find;
}): JSX.Element {
  const { found, current, query = '' } = find;
  if (way === 'json' && view.json !== undefined)
    return <JsonTree label={label} document={view.json} found={found} current={current} />;
  if (way === 'form' && view.form !== undefined) return <FormTable label={label} form={view.form} />;
  if (way === 'image' && view.image !== undefined)
    return <ImagePreview label={label} image={view.image} body={view.bytes} />;
  if (way === 'html' && view.html !== undefined) return <HtmlPreview label={label} html={view.html} />;
  return (
    <TextView
      label={label}
      text={text ?? ''}
      found={found}
      current={current}
      length={query.length}
      mayWrap={way !== 'hex'}
    />
  );
}
