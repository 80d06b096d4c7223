/** `data at /mnt/data, read-only` */
export function mountWords({ volume, path, readOnly }: { volume: string; path: string; readOnly: boolean }): string {
  return `${volume} at ${path}${readOnly ? ', read-only' : ''}`
}
