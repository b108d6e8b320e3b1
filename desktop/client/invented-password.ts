import { randomInt } from 'node:crypto';

const WORDS_PER_PASSWORD = 3;

/**
 * Generates a password that can be read aloud and typed on a phone: three of {@link WORDS}, at least 30 bits. That is
 * enough because the relay accepts 10 wrong tries a minute from an address (protocol.md section 11).
 *
 * @param draw returns a uniformly random integer from 0 to below its argument
 * @returns a password such as `mild-oak-fern`
 */
export function inventPassword(draw: (below: number) => number = randomInt): string {
  return Array.from({ length: WORDS_PER_PASSWORD }, () => WORDS[draw(WORDS.length)]).join('-');
}

/** Short words that most people know and can spell, for generated passwords. */
export const WORDS: readonly string[] = `
  able acid acorn acre actor adobe agile aisle alarm album alder alert alley almond aloe alpha alpine amber
  ample amuse anchor angle ankle anthem apple apron aqua arbor arcade arch arctic arena armor arrow artist ash
  aspen aster atlas atom attic aunt autumn avid axis azure baby bacon badge badger bagel baker balcony ball
  ballet balloon balsa bamboo banana band banjo barge bark barley barn baron basil basin basket batch bath
  baton bay beach beacon bead beam bean bear beaver bed bee beech beet bell belt bench berry bike bingo birch
  bird biscuit bison blanket blaze blend bliss bloom blossom blue blush boat bobcat bolt bonnet bonus book
  boot border botany bottle boulder bounce bowl box brake branch brass brave bread breeze brick bride bridge
  brief bright brisk broad bronze brook broom brother brown brush bubble bucket bud buddy buffet bugle build
  bulb bumper bundle bunny bus bush butter button buzz cabin cable cactus cadet cafe cake calf calm camel
  camera camp canal canary candle candy canoe canopy canvas canyon cape caper capital caramel caravan card
  cargo carol carpet carrot cart carve cashew castle cat catalog cave cedar celery cellar cello cement cereal
  chain chair chalk champ channel chapel charm chart cheddar cheer cheese cherry chess chest chick chief child
  chili chime chimney chin china chip choir chord chorus chrome cider cinema circle circus citrus city civic
  clam clap clarinet class clay clean clear clerk clever cliff climb clip clock clog cloth cloud clover club
  coach coal coast coat cobalt cobra cocoa coconut cod coffee coil coin cola collar comet comfy comic compass
  concert condor cone cook cookie copper coral cord cork corn corner cosmic cotton couch cougar council
  country cousin cove cow coyote cozy crab cradle craft crane crater crayon cream creek crest cricket crisp
  crop cross crowd crown cruise crumb crunch crust crystal cub cube cuckoo cup curl curry curtain curve
  cushion custard cycle cymbal cypress daily dairy daisy dance dandy dapper daring dash data date dawn day
  deal debut deck deer delta denim depot desert desk dessert dew dial diamond diary dice diet dill dime diner
  dingo dinner disco dish diver dock doctor dolphin domain dome domino donkey donut door dough dove dragon
  drama drawer dream dress drift drill drink drive drizzle drum dry duck duet dune dusk dust eager eagle early
  earth easel east easy echo eclair edge eel egg elbow elder elect elegant elk elm ember emblem emerald emu
  encore energy engine enjoy entry envoy epic equal era errand estate evening event exact exhale exit expert
  extra eye fable fabric face fact fair fairy falcon family famous fan fancy farm fast father fawn feast
  feather fence fennel fern ferry festival fiber fiddle field fig film final finch fine finger fir fire first
  fish five flag flame flannel flash flask flat flax fleet flint float flock floor flora flour flower flute
  foam focus fog foil folder folk fondue food forest fork form fort forum fossil fountain fox frame fresh
  friend fringe frog front frost fruit fudge full funnel funny future gadget gala galaxy gallery gallop game
  garage garden garlic garnet gate gazebo gazelle gecko gem genial gentle genuine giant gift giggle ginger
  giraffe glacier glad glade glass glaze gleam glee glide globe glory glove glow gnome goal goat gold golf
  gondola good goose gorge gourd grace grain grand granite grape graph grass gravel gravy great green grid
  grill grin grocer grove growth guest guide guitar gulf gull gust habit hall halo hammer hammock hamster hand
  happy harbor hardy harmony harp harvest hat hawk hay hazel head health heart hearth heather hedge helium
  helmet helper hen herald herb herd hero heron hiker hill hinge hippo hobby hockey holiday holly home honest
  honey hood hoof hope horizon horn horse host hotel hour house hover hub hug humble humor hut hydrant ice
  icicle icing icon idea idol igloo iguana image inch indigo ink inlet inn insect invent invite iris iron
  island ivory ivy jacket jade jaguar jam jar jasmine jaunty jazz jeans jelly jersey jet jewel jigsaw jogger
  joke jolly journal journey joy judo juggle juice jumbo jump jungle junior juniper jury just kale kangaroo
  karate kayak keen keep kennel kernel kettle key kind king kiosk kite kitten kiwi knee knight knit knob knot
  koala label lace ladder lady lagoon lake lamb lamp lantern lapel larch large lark laser lasso latch latte
  laugh laurel lava lavender lawn layer leader leaf league lean leap learn leather ledge legend lemon lemur
  lens lentil leopard lesson letter lettuce level library light lilac lily lime linen lion liquid list little
  live lively lizard llama lobby lobster local lodge log logic lollipop long lotus loud lounge loyal lucky
  lunar lunch lute lynx lyric magic magnet magpie maiden mail major mallet mammal mango manor mantle maple
  marble margin marina market marsh marvel mascot mask master match maze meadow meal medal medley mellow
  melody melon member menu mermaid merry metal meteor meter mild milk mill mimic mineral mini mint minute
  mirror mist mitten mixer mobile model modern mole moment monkey month moon moose morning mosaic moss motel
  moth mother motor mountain mouse movie muffin mug mulberry mule muscle museum music mustard myth nacho name
  napkin narrow native nature navy near neat nectar needle neon nephew nest net new nice nickel niece night
  nimble nine noble noodle noon north nose note notebook novel nugget number nut nutmeg nylon oak oar oasis
  oat oboe ocean octave octopus office oil okra olive omelet onion onyx opal open opera orange orbit orchard
  orchid order oregano organ origami osprey ostrich otter outfit oval oven owl owner oyster pacific paddle
  page pail paint pair palace palm panda panel pansy pantry papaya paper parade parcel park parrot parsley
  parsnip party pasta paste pastry patch path patio patrol pause peace peach peacock peak peanut pear pearl
  pebble pecan pedal pelican pen pencil penguin pepper perch perfect perfume petal petunia phone photo piano
  pickle picnic picture piece pier pigeon pillow pilot pine pink pint pioneer pipe pirate pitch pixel pizza
  place plaid plain planet plank plant plate plaza plenty plow plum plush pocket poem poet polar polish polite
  polo pond pony pool poplar poppy porch port portal post potato pottery powder prairie praise pretty pretzel
  prime prince print prism prize profile project promise proper proud prune public pudding puffin pulley pulse
  puma pump pumpkin punch pupil puppet puppy purple purse puzzle pyramid quail quaint quality quarry quartz
  queen quest quick quiet quill quilt quince quiz quota rabbit raccoon race radar radio radish raft rain
  raisin rake rally ramp ranch ranger rapid raven ravine ray razor ready real recipe record red reed reef
  regal relay relish remedy rest ribbon rice riddle ride ridge right ring ripple river road robe robin robot
  rock rocket rodeo roll roof room rooster root rope rose rotor round route rover royal ruby rug ruler rumba
  rural rustic rye saddle safari saffron sage sail salad salmon salsa salt salute sample sand sandal sapling
  sardine satin sauce savory scale scarf scene school science scoop scooter scout screen scroll sea seal
  season seat second seed seven shade shadow shape shark sheep shelf shell sherbet shield shine ship shirt
  shoe shop shore short show shrimp shrub siesta signal silk silver simple singer siren sister six skate
  sketch ski skill skirt sky slate sled sleek sleeve slice slide slim slope slow smart smile smooth snack
  snail snap snow soap soccer sock soda sofa soft soil solar solid solo sonar song sonic sorbet soup south
  space spark sparrow spice spider spinach spiral spirit splash sponge spoon sport spray spring sprout spruce
  square squash squid squirrel stable stadium staff stage stamp star state station statue steak steam steel
  stem step stereo stone stool storm story stove straw stream street string stripe strong studio sturdy style
  subway sugar suit summer summit sun sunny super supper surf swan sweater sweet swift swim swing switch syrup
  system table tablet taco tail tailor talent tall tango tank tape target tart task taste taxi tea teal team
  teapot temple tempo ten tender tennis tent term terrace test thank theater theme thimble thistle thread
  three thrift throne thunder thyme ticket tide tidy tiger tile timber time tinsel tiny toast today toffee
  tomato tomorrow tongue tool top topaz torch tortoise total toucan tour towel tower town toy track trade
  trail train travel tray treasure treat tree trek trend tribe trick trio trolley trophy trout truck true
  truffle trumpet trunk trust tuba tulip tuna tundra tunnel turbo turkey turnip turtle tutor tuxedo tweed twig
  twin twist two umbrella uncle unicorn uniform union unique unit upbeat upper urban useful usher vacuum
  valley valve van vanilla vapor vase vast vault velvet vendor venture verb verse vest video view villa
  village vine vinyl viola violet violin visit vivid vocal voice volcano vote voyage waffle wagon waist walk
  wall walnut walrus waltz warm wash water wave wax weather weave web wedge week welcome west whale wheat
  wheel whisk whistle white wide wild willow wind window wing winner winter wise wish wizard wolf wonder wood
  wool word world wreath wren wrist writer yacht yard yarn year yeast yellow yoga yogurt young yoyo zebra
  zenith zephyr zero zest zigzag zinc zipper zone zoo
`
  .trim()
  .split(/\s+/);
