import { useLayoutEffect, useState } from 'preact/hooks';
import type { Bridge } from '../../bridge.ts';

/**
 * Takes files that are dropped anywhere on the window, and hands them to main.
 *
 * @returns whether something is being dragged over the window that could be dropped there
 */
export function useDrops(bridge: Bridge): boolean {
  const [isOver, setOver] = useState(false);
  // In the same task that draws the window: effects run a frame later, and miss what is dragged over it meanwhile.
  useLayoutEffect(() => {
    const offer = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      // From one part of the window to another it has not left.
      if (event.relatedTarget === null) setOver(false);
    };
    const take = (event: DragEvent): void => {
      setOver(false);
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      // What is wrong with it is in the next snapshot.
      bridge.drop([...event.dataTransfer.files]).catch(() => undefined);
    };
    addEventListener('dragover', offer);
    addEventListener('dragleave', leave);
    addEventListener('drop', take);
    return () => {
      removeEventListener('dragover', offer);
      removeEventListener('dragleave', leave);
      removeEventListener('drop', take);
    };
  }, [bridge]);
  return isOver;
}
