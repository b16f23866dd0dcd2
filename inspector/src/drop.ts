// Files and folders that are dropped on the page.
import { useEffect, useRef, useState } from "preact/hooks";

const LOGS = /\.(jsonl|json)$/i;

/** Whether files are held over the page. When they are dropped, each file of each folder is given. */
export function useDrop(onFiles: (files: File[]) => void): boolean {
  const [over, setOver] = useState(false);
  const latest = useRef(onFiles);
  latest.current = onFiles;
  useEffect(() => {
    let depth = 0;
    const isFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => isFile(event) && ((depth += 1), setOver(true));
    const leave = (event: DragEvent) => isFile(event) && ((depth -= 1), depth <= 0 && setOver(false));
    const hold = (event: DragEvent) => isFile(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!isFile(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      void droppedFiles(event.dataTransfer).then((files) => latest.current(files));
    };
    const all = { dragenter: enter, dragleave: leave, dragover: hold, drop } as const;
    for (const [name, call] of Object.entries(all)) addEventListener(name, call as EventListener);
    return () => Object.entries(all).forEach(([name, call]) => removeEventListener(name, call as EventListener));
  }, []);
  return over;
}

/** Return the dropped files; of folders, the logs in them at any depth. */
async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (!entries.length) return [...transfer.files];
  const found = await Promise.all(entries.map((entry) => filesOf(entry, false)));
  return found.flat();
}

async function filesOf(entry: FileSystemEntry, inFolder: boolean): Promise<File[]> {
  if (entry.isFile) return inFolder && !LOGS.test(entry.name) ? [] : [await asFile(entry as FileSystemFileEntry)];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: File[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const each of some) found.push(...(await filesOf(each, true)));
  }
}

function asFile(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}
