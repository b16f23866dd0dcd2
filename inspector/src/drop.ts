// Files and folders that were dropped on the page.
const LOGS = /\.(jsonl|json)$/i;

/** Return the dropped files; of folders, the logs in them at any depth. */
export async function droppedFiles(transfer: DataTransfer): Promise<File[]> {
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
