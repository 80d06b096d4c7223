import { z } from 'zod'
import { byteAmount, list, retention, uidRange, volumes, wholeNumber, yesOrNo } from './values.ts'
import { variable } from './variable.ts'

const PULL_POLICIES = ['missing', 'always', 'never'] as const
const IMAGE = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,510}$/, 'must be the name of an image')
const SHM_BYTES_MAX = 1024 ** 4

/** Of an agent whose executor is `container`. */
export const CONTAINER_VARIABLES = {
  containerEngine: variable({
    name: 'REPRISE_CONTAINER_ENGINE',
    default: "the first there is of Docker's socket, the user's Podman and root's Podman",
    meaning: 'Socket of the container engine, like `unix:///run/podman/podman.sock`.',
    unit: null,
    schema: z
      .string()
      .regex(/^unix:\/\/\/.+/, 'must be like unix:///var/run/docker.sock')
      .optional(),
  }),
  containerImage: variable({
    name: 'REPRISE_CONTAINER_IMAGE',
    default: 'none',
    meaning: 'Image of sessions that name none. Without it, such sessions fail on this agent.',
    unit: null,
    schema: IMAGE.optional(),
  }),
  containerAllow: variable({
    name: 'REPRISE_CONTAINER_ALLOW',
    default: '`*`',
    meaning:
      'Images that sessions may name, separated by commas; `*` stands for anything, as in `registry.example.com/team/*`. Names are compared as they are given. A registry at a private address is asked only if its host is written out here; with more than one project, name all registries.',
    unit: null,
    schema: list(z.string().min(1, 'must not be empty')).default(['*']),
  }),
  containerPull: variable({
    name: 'REPRISE_CONTAINER_PULL',
    default: 'missing',
    meaning: 'When images are pulled: `missing` (unless they are there), `always`, or `never`.',
    unit: null,
    schema: z.enum(PULL_POLICIES).default('missing'),
  }),
  containerImageKeep: variable({
    name: 'REPRISE_CONTAINER_IMAGE_KEEP',
    default: '7d',
    meaning:
      "How long an image that the agent has pulled is kept after its last use, like `12h` or `7d`, or how many such images, like `20`, or both, like `7d,20`; or `forever`. While the engine's disk is more than 90 % full, none is kept that nothing uses, the least recently used going first.",
    unit: 'h, d, w or y; images',
    schema: retention().default({ ageSeconds: 7 * 86_400, count: null }),
  }),
  containerAuthFile: variable({
    name: 'REPRISE_CONTAINER_AUTH_FILE',
    default: 'none',
    meaning:
      "File with credentials of registries, as Docker's `config.json` has them in `auths`; helpers are not asked. It is read at each pull.",
    unit: null,
    schema: z.string().startsWith('/', 'must be an absolute path').optional(),
  }),
  containerNetwork: variable({
    name: 'REPRISE_CONTAINER_NETWORK',
    default: 'default',
    meaning: "Network of containers: `default` (the engine's own), `none`, `host`, or one of the engine by its name.",
    unit: null,
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "must be a network's name")
      .default('default'),
  }),
  containerUids: variable({
    name: 'REPRISE_CONTAINER_UIDS',
    default: '2000000000-2000065535',
    meaning:
      "User and group ids that projects get in containers and for their files, with root's engine. No user may have one of them.",
    unit: null,
    schema: uidRange().optional(),
  }),
  containerVolumes: variable({
    name: 'REPRISE_CONTAINER_VOLUMES',
    default: 'none',
    meaning:
      'Directories that sessions may ask for by name, as JSON: `{"data": {"source": "/srv/data", "readOnly": true, "projects": ["default"]}}`. `readOnly` is false, and `projects` all, where they are missing.',
    unit: null,
    schema: volumes().default([]),
  }),
  containerRuntime: variable({
    name: 'REPRISE_CONTAINER_RUNTIME',
    default: "the engine's default",
    meaning: 'Runtime of containers, as the engine knows it, like `runsc`.',
    unit: null,
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/, "must be a runtime's name")
      .optional(),
  }),
  containerPids: variable({
    name: 'REPRISE_CONTAINER_PIDS',
    default: '1024',
    meaning: 'Processes and threads that a container may have at once.',
    unit: 'processes',
    schema: wholeNumber(16, 4_000_000).default(1_024),
  }),
  containerShm: variable({
    name: 'REPRISE_CONTAINER_SHM',
    default: '64m',
    meaning: 'Size of `/dev/shm` in containers. What is in it counts as memory.',
    unit: 'bytes, with k, m, g, t (binary)',
    schema: byteAmount(SHM_BYTES_MAX).default(64 * 1024 ** 2),
  }),
  containerReadonly: variable({
    name: 'REPRISE_CONTAINER_READONLY',
    default: 'true',
    meaning: "Whether the image's files cannot be changed by the program; `/work`, `/chain` and `/tmp` always can.",
    unit: null,
    schema: yesOrNo().default(true),
  }),
  containerParallel: variable({
    name: 'REPRISE_CONTAINER_PARALLEL',
    default: '4',
    meaning: 'Containers that are created or started at a time.',
    unit: 'containers',
    schema: wholeNumber(1, 256).default(4),
  }),
}
