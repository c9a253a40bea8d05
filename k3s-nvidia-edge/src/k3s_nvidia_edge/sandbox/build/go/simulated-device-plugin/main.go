// SIMULATED device plugin: offers devices that do not exist, so that a node without a card has something to allocate.
//
// It speaks the kubelet's real device plugin protocol; only the hardware is pretended. Every line it logs says SIMULATED.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// pollInterval is how soon a change of a file is noticed: a restarted kubelet, a device's health, the simulated fault.
const pollInterval = 500 * time.Millisecond

// What a simulated fault can be; no fault is the empty string.
const (
	faultNoDevices = "no-devices" // runs and finds nothing: the plugin is Ready and blind
	faultExit      = "exit"       // cannot start: the pod ends in a crash loop
)

type settings struct {
	resource   string
	devices    []string
	directory  string        // the kubelet's device plugin directory
	socket     string        // this plugin's socket in it
	healthFile string        // ids of unhealthy devices, or `all`; absent means all healthy
	fault      string        // fixed fault
	faultFile  string        // fault that may change while the plugin runs
	patience   time.Duration // how long a kubelet may refuse the registration
}

func (s *settings) currentFault() string {
	if s.fault != "" || s.faultFile == "" {
		return s.fault
	}
	text, err := os.ReadFile(s.faultFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func (s *settings) deviceList() []*plugin.Device {
	text, _ := os.ReadFile(s.healthFile) // absent: nothing is unhealthy
	unhealthy := strings.Fields(string(text))
	list := make([]*plugin.Device, len(s.devices))
	for i, id := range s.devices {
		health := plugin.Healthy
		if slices.Contains(unhealthy, id) || slices.Contains(unhealthy, "all") {
			health = plugin.Unhealthy
		}
		list[i] = &plugin.Device{ID: id, Health: health}
	}
	return list
}

type server struct {
	plugin.UnimplementedDevicePluginServer
	settings *settings
}

func (s *server) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

func (s *server) ListAndWatch(_ *plugin.Empty, stream grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	said := ""
	for {
		devices := s.settings.deviceList()
		if now := fmt.Sprint(devices); now != said {
			said = now
			log.Printf("telling the kubelet: %s", now)
			if err := stream.Send(&plugin.ListAndWatchResponse{Devices: devices}); err != nil {
				return err
			}
		}
		select {
		case <-stream.Context().Done():
			return nil
		case <-time.After(pollInterval):
		}
	}
}

func (s *server) Allocate(_ context.Context, request *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	response := &plugin.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := strings.Join(container.DevicesIds, ",")
		log.Printf("allocating %s to a container", ids)
		response.ContainerResponses = append(response.ContainerResponses, &plugin.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": ids, "EDGE_GPU": "SIMULATED"},
		})
	}
	return response, nil
}

// register announces the plugin to the kubelet, again and again until the kubelet takes it or patience ends.
// It returns the socket that the kubelet had just before: one that has another later is another kubelet.
func register(ctx context.Context, s *settings) (os.FileInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	socket := filepath.Join(s.directory, "kubelet.sock")
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	request := &plugin.RegisterRequest{
		Version: plugin.Version, Endpoint: s.socket, ResourceName: s.resource, Options: &plugin.DevicePluginOptions{},
	}
	for {
		found, err := os.Stat(socket)
		if err == nil {
			_, err = plugin.NewRegistrationClient(connection).Register(ctx, request)
		}
		if err == nil {
			return found, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pollInterval):
		}
	}
}

// serve offers the devices until the kubelet restarts, a fault is switched on, or the context ends.
func serve(ctx context.Context, s *settings) error {
	path := filepath.Join(s.directory, s.socket)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	served := grpc.NewServer()
	plugin.RegisterDevicePluginServer(served, &server{settings: s})
	go func() { _ = served.Serve(listener) }() // ends with Stop
	defer served.Stop()
	kubelet, err := register(ctx, s)
	if err != nil {
		return fmt.Errorf("the kubelet at %s took no registration of %s within %s: %w", s.directory, s.resource, s.patience, err)
	}
	log.Printf("registered %s with %d device(s): %s", s.resource, len(s.devices), strings.Join(s.devices, " "))
	for ctx.Err() == nil && s.currentFault() == "" {
		now, err := os.Stat(filepath.Join(s.directory, "kubelet.sock"))
		_, own := os.Stat(path) // a starting kubelet empties the directory
		if err != nil || own != nil || !os.SameFile(now, kubelet) || !now.ModTime().Equal(kubelet.ModTime()) {
			log.Print("the kubelet restarted: registering again")
			return nil
		}
		pause(ctx)
	}
	return nil
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pollInterval):
	}
}

func run(ctx context.Context, s *settings) error {
	said := ""
	for ctx.Err() == nil {
		fault := s.currentFault()
		if fault != said && fault != "" {
			log.Printf("fault %q is switched on", fault)
		}
		switch {
		case fault == faultExit:
			return errors.New("failed to initialize the cards (fault `exit`)")
		case fault == faultNoDevices || len(s.devices) == 0:
			if fault != said || said == "" {
				log.Print("No devices found. Waiting indefinitely.")
			}
			said = faultNoDevices
			pause(ctx)
			continue
		case fault != "":
			return fmt.Errorf("unknown fault %q: use %s or %s", fault, faultNoDevices, faultExit)
		}
		said = ""
		if err := serve(ctx, s); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func main() {
	log.SetPrefix("SIMULATED device plugin: ")
	log.SetFlags(log.Ldate | log.Ltime | log.Lmicroseconds | log.LUTC | log.Lmsgprefix)
	s, err := parse(os.Args[1:], os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, s); err != nil {
		log.Fatal(err) // exit code 1; the last line tells why
	}
	log.Print("stopped")
}

// parse reads flags; each has an environment variable of the same name in capitals as its default.
func parse(arguments []string, environment func(string) string) (*settings, error) {
	value := func(name, fallback string) string {
		if text := environment(name); text != "" {
			return text
		}
		return fallback
	}
	s := &settings{}
	flags := flag.NewFlagSet("simulated-device-plugin", flag.ContinueOnError)
	flags.StringVar(&s.resource, "resource", value("RESOURCE", "nvidia.com/gpu"), "resource to offer")
	count := flags.String("devices", value("DEVICES", "1"), "number of devices to offer")
	patience := flags.String("patience", value("PATIENCE", "30s"), "how long a kubelet may refuse the registration")
	flags.StringVar(&s.directory, "directory", value("DIRECTORY", "/var/lib/kubelet/device-plugins"), "the kubelet's device plugin directory")
	flags.StringVar(&s.healthFile, "health-file", value("HEALTH_FILE", "/run/edge/unhealthy"), "ids of unhealthy devices, or `all`")
	flags.StringVar(&s.fault, "simulate", value("SIMULATE", ""), "fault: no-devices or exit")
	flags.StringVar(&s.faultFile, "simulate-file", value("SIMULATE_FILE", ""), "file with a fault that may change while the plugin runs")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	number := 0
	if _, err := fmt.Sscanf(*count, "%d", &number); err != nil || number < 0 || number > 64 || fmt.Sprint(number) != *count {
		return nil, fmt.Errorf("devices %q: give a number from 0 to 64", *count)
	}
	duration, err := time.ParseDuration(*patience)
	if err != nil || duration <= 0 {
		return nil, fmt.Errorf("patience %q: give a duration such as 30s", *patience)
	}
	s.patience = duration
	for i := range number {
		s.devices = append(s.devices, fmt.Sprintf("GPU-51700000-0000-4000-8000-%012d", i))
	}
	s.socket = "simulated-" + strings.NewReplacer("/", "-", ".", "-").Replace(s.resource) + ".sock"
	return s, nil
}
