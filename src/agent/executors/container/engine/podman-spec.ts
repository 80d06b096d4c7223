import type { CreateBody } from './engine-client.ts'

/** Lists devices that a file of the machine describes (CDI), such as `nvidia.com/gpu=0`. These are not paths. */
export function cdiDevices(body: CreateBody): string[] {
  const devices = (body.HostConfig['Devices'] ?? []) as { PathOnHost: string }[]
  return devices.map(({ PathOnHost }) => PathOnHost).filter((name) => !name.startsWith('/'))
}

interface HostConfig {
  Memory?: number
  MemorySwap?: number
  NanoCpus?: number
  CgroupParent?: string
  PidsLimit?: number
  ShmSize: number
  OomScoreAdj: number
  CapDrop: string[]
  SecurityOpt: string[]
  ReadonlyRootfs: boolean
  Tmpfs: Record<string, string>
  Init: boolean
  LogConfig: { Type: string; Config: Record<string, string> }
  Mounts: {
    Type: string
    Source: string
    Target: string
    ReadOnly: boolean
    BindOptions?: { NonRecursive?: boolean }
  }[]
  NetworkMode: string
  PortBindings?: Record<string, { HostIp: string; HostPort: string }[]>
  ExtraHosts?: string[]
  Runtime?: string
  Devices?: { PathOnHost: string }[]
  GroupAdd?: string[]
}

interface Body {
  Image: string
  Cmd: readonly string[]
  Entrypoint?: readonly string[]
  Env: string[]
  User: string
  WorkingDir: string
  Labels: Record<string, string>
  HostConfig: HostConfig
  NetworkingConfig?: { EndpointsConfig: Record<string, { IPAMConfig: { IPv4Address: string } }> }
}

const CPU_PERIOD_US = 100_000
const NANO = 1e9
const MIB = 1024 * 1024

/** Converts the request to Podman's own API: through Docker's API, Podman accepts devices only by their paths. */
export function podmanSpec(name: string, body: CreateBody): object {
  const {
    Image,
    Cmd,
    Entrypoint,
    Env,
    User,
    WorkingDir,
    Labels,
    HostConfig: host,
    NetworkingConfig,
  } = body as unknown as Body
  return {
    name,
    image: Image,
    command: Cmd,
    ...(Entrypoint !== undefined && { entrypoint: Entrypoint }),
    env: Object.fromEntries(
      Env.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    ),
    user: User,
    work_dir: WorkingDir,
    labels: Labels,
    resource_limits: {
      ...(host.Memory !== undefined && { memory: { limit: host.Memory, swap: host.MemorySwap } }),
      ...(host.NanoCpus !== undefined && {
        cpu: { period: CPU_PERIOD_US, quota: Math.round((host.NanoCpus / NANO) * CPU_PERIOD_US) },
      }),
      ...(host.PidsLimit !== undefined && { pids: { limit: host.PidsLimit } }),
    },
    ...(host.CgroupParent !== undefined && { cgroup_parent: host.CgroupParent }),
    shm_size: host.ShmSize,
    oom_score_adj: host.OomScoreAdj,
    cap_drop: host.CapDrop,
    no_new_privileges: host.SecurityOpt.includes('no-new-privileges'),
    read_only_filesystem: host.ReadonlyRootfs,
    init: host.Init,
    restart_policy: 'no',
    log_configuration: {
      driver: host.LogConfig.Type,
      size: Number.parseInt(host.LogConfig.Config['max-size']!, 10) * MIB,
    },
    mounts: [
      ...Object.entries(host.Tmpfs).map(([destination, options]) => ({
        destination,
        type: 'tmpfs',
        source: 'tmpfs',
        options: options.split(','),
      })),
      ...host.Mounts.map(({ Source, Target, ReadOnly, BindOptions }) => ({
        destination: Target,
        type: 'bind',
        source: Source,
        options: [BindOptions?.NonRecursive === true ? 'bind' : 'rbind', ReadOnly ? 'ro' : 'rw', 'rprivate'],
      })),
    ],
    ...networkOf(host, NetworkingConfig),
    ...(host.ExtraHosts !== undefined && { hostadd: host.ExtraHosts }),
    ...(host.Runtime !== undefined && { oci_runtime: host.Runtime }),
    devices: (host.Devices ?? []).map(({ PathOnHost: path }) => ({ path })),
    ...(host.GroupAdd !== undefined && { groups: host.GroupAdd }),
  }
}

const MODES = new Set(['none', 'host'])

function networkOf({ NetworkMode: network, PortBindings }: HostConfig, config: Body['NetworkingConfig']): object {
  const portmappings = Object.entries(PortBindings ?? {}).flatMap(([port, bindings]) =>
    bindings.map(({ HostIp, HostPort }) => ({
      container_port: Number.parseInt(port, 10),
      host_port: Number(HostPort),
      host_ip: HostIp,
      protocol: 'tcp',
    })),
  )
  const published = portmappings.length > 0 && { portmappings }
  if (network === 'default') return { ...published }
  if (MODES.has(network)) return { netns: { nsmode: network } }
  const address = config?.EndpointsConfig[network]?.IPAMConfig.IPv4Address
  const membership = address === undefined ? {} : { static_ips: [address] }
  return { netns: { nsmode: 'bridge' }, networks: { [network]: membership }, ...published }
}
