import { useEffect } from 'preact/hooks';
import type { Bridge } from '../../bridge.ts';

/** Takes files that are dropped anywhere on the window, and hands them to main. */
export function useDrops(bridge: Bridge): void {
  useEffect(() => {
    const offer = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'copy';
    };
    const take = (event: DragEvent): void => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      // What is wrong with it is in the next snapshot.
      bridge.drop([...event.dataTransfer.files]).catch(() => undefined);
    };
    addEventListener('dragover', offer);
    addEventListener('drop', take);
    return () => {
      removeEventListener('dragover', offer);
      removeEventListener('drop', take);
    };
  }, [bridge]);
}
