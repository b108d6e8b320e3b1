import type { Scene } from './scene.ts';
import { live, scripted } from './scripted.ts';
import { HERON, SHOP } from './tunnels.ts';

export const DROP_SCENES: readonly Scene[] = [
  {
    name: 'drop',
    alt: 'A folder that was dropped: what visitors would get of it, and that nothing is shared yet',
    main: scripted({
      tunnels: [SHOP],
      drop: { id: 'd', state: 'folder', name: 'holiday pictures', isProject: false },
    }),
  },
  {
    name: 'drop-project',
    alt: 'A folder that was dropped and has a culvert.yml: it can be shared, or its tunnels shown',
    main: scripted({ tunnels: [SHOP], drop: { id: 'd', state: 'folder', name: 'shop', isProject: true } }),
  },
  {
    name: 'drop-refused',
    alt: 'Something that was dropped and cannot be shared, with why',
    main: scripted({
      tunnels: [SHOP],
      drop: {
        id: 'd',
        state: 'refused',
        problem: {
          code: 'unreadable',
          text: 'The folder "/media/nas/pictures" does not answer: the drive or server that it is on may be gone. Choose one folder that you can read.',
        },
      },
    }),
  },
  {
    name: 'drop-here',
    alt: 'Something is dragged over the window, which says what dropping it does',
    main: live(SHOP, HERON),
    go: async (page) => {
      await page.evaluate(`{
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([], 'folder'));
        document.querySelector('main').dispatchEvent(
          new DragEvent('dragover', { bubbles: true, cancelable: true, dataTransfer }),
        );
      }`);
      await page.locator('.drop-here').waitFor();
    },
  },
];
