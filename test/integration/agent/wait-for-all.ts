/**
 * For a shell: waits until as many kernels of its attempt have come to this point. The first that ends ends them all.
 *
 * @param directory that all of them see
 */
export function waitForAll(directory: string, count: number): string {
  const own = `${directory}/$REPRISE_ATTEMPT`
  return `: >"${own}.$REPRISE_KERNEL_NAME"; until [ "$(ls -d "${own}".* | wc -l)" -ge ${count} ]; do sleep 0.05; done`
}
