/** Files that hold one icon in several sizes, each as a PNG. */

export interface SizedPng {
  /** pixels of a side */
  readonly size: number;
  readonly png: Buffer;
}

/** An `.ico` as Windows takes it since Vista: a directory with 16 bytes for each entry, then the PNGs. */
export function ico(images: readonly SizedPng[]): Buffer {
  const head = Buffer.alloc(6 + 16 * images.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(images.length, 4);
  let offset = head.length;
  images.forEach(({ size, png }, index) => {
    const entry = 6 + 16 * index;
    // One byte for each side; 0 means 256.
    head.writeUInt8(size % 256, entry);
    head.writeUInt8(size % 256, entry + 1);
    head.writeUInt16LE(1, entry + 4);
    head.writeUInt16LE(32, entry + 6);
    head.writeUInt32LE(png.length, entry + 8);
    head.writeUInt32LE(offset, entry + 12);
    offset += png.length;
  });
  return Buffer.concat([head, ...images.map(({ png }) => png)]);
}

/** Pixels of each kind of entry; those of high resolution are next to those of the same size in pixels. */
const ICNS_TYPES: readonly (readonly [type: string, size: number])[] = [
  ['icp4', 16],
  ['icp5', 32],
  ['ic11', 32],
  ['icp6', 64],
  ['ic12', 64],
  ['ic07', 128],
  ['ic08', 256],
  ['ic13', 256],
  ['ic09', 512],
  ['ic14', 512],
  ['ic10', 1024],
];

/** An `.icns` as macOS takes it. Sizes without an entry type are left out. */
export function icns(images: readonly SizedPng[]): Buffer {
  const entries = ICNS_TYPES.flatMap(([type, size]) => {
    const image = images.find((other) => other.size === size);
    return image === undefined ? [] : [chunk(type, image.png)];
  });
  return chunk('icns', Buffer.concat(entries));
}

function chunk(type: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 'latin1');
  head.writeUInt32BE(head.length + data.length, 4);
  return Buffer.concat([head, data]);
}
